/** Opens pages in the browser of the user. */
import { spawn } from "node:child_process";

/**
 * Opens a page. BROWSER names another program. Returns whether one was started; without a display none is. What the
 * program prints is dropped.
 */
export async function openBrowser(url: string): Promise<boolean> {
  const program = programOf(process.env);
  if (program === undefined) return false;
  const [name, ...args] = program;
  const child = spawn(name!, [...args, url], { stdio: "ignore", detached: true });
  child.unref();
  return new Promise((done) => {
    child.once("spawn", () => done(true));
    child.once("error", () => done(false));
  });
}

function programOf({ BROWSER: browser, DISPLAY: x11, WAYLAND_DISPLAY: wayland }: NodeJS.ProcessEnv) {
  if (browser) return [browser];
  if (process.platform === "darwin") return ["open"];
  if (process.platform === "win32") return ["rundll32", "url.dll,FileProtocolHandler"];
  return x11 || wayland ? ["xdg-open"] : undefined;
}
