// Which Node runs this package. The syntax is that of an older one, which has to print what to do.
const [major, minor] = process.versions.node.split(".").map(Number);

/** Whether it is recent enough: `engines` of package.json. */
export const isRecent = major > 24 || (major === 24 && minor >= 16);

/** Says what to do under an older Node, and ends with status 1. `program`: the command. */
export function refuse(program) {
  console.error(
    `error: ${program} needs Node 24.16 or newer, and this is ${process.version}.
Install it from https://nodejs.org, or let npm run the program by a Node of its own:
  npx --package node@24 --package platform-api ${program} ${process.argv.slice(2).join(" ")}`.trimEnd(),
  );
  process.exit(1);
}
