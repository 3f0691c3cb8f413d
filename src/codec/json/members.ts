/** Members of JSON objects: of two with one name one reader takes the first, and another the last. */

/** Parses JSON in which no object has two members of one name. Errors: SyntaxError. */
export function parseUnambiguous(json: string): unknown {
  const value: unknown = JSON.parse(json);
  const path = repeatedMember(json);
  if (path !== undefined) throw new SyntaxError(`${path} occurs twice in its object`);
  return value;
}

/** An object or a list around the current position, and where in it that is. */
type Place = { readonly names: Set<string>; name: string } | { index: number };

/**
 * The path of the first member that its object has already, `advisories[3].id`; undefined if there is none.
 * @param json a valid JSON text.
 */
export function repeatedMember(json: string): string | undefined {
  const places: Place[] = [];
  const marks = /[{}[\],"]/g;
  for (let mark = marks.exec(json); mark !== null; mark = marks.exec(json)) {
    const place = places.at(-1);
    switch (mark[0]) {
      case "{":
        places.push({ names: new Set(), name: "" });
        break;
      case "[":
        places.push({ index: 0 });
        break;
      case "}":
      case "]":
        places.pop();
        break;
      case ",":
        if (place !== undefined && "index" in place) place.index++;
        break;
      case '"': {
        const at = mark.index;
        const end = endOfString(json, at);
        if (place !== undefined && "names" in place && isName(json, end)) {
          const written = json.slice(at + 1, end - 1);
          place.name = written.includes("\\") ? JSON.parse(`"${written}"`) : written;
          if (place.names.has(place.name)) return pathOf(places);
          place.names.add(place.name);
        }
        marks.lastIndex = end;
      }
    }
  }
  return undefined;
}

function endOfString(json: string, start: number): number {
  for (let end = start; ; ) {
    end = json.indexOf('"', end + 1);
    let at = end;
    while (json[at - 1] === "\\") at--;
    if ((end - at) % 2 === 0) return end + 1; // else the quotation mark is escaped
  }
}

function isName(json: string, end: number): boolean {
  let at = end;
  while (json.charCodeAt(at) <= 0x20) at++;
  return json[at] === ":";
}

function pathOf(places: readonly Place[]): string {
  return places
    .map((place) => ("names" in place ? `.${place.name}` : `[${place.index}]`))
    .join("")
    .replace(/^\./, "");
}

/** How many members the objects in a parsed value have. */
export function memberCount(value: unknown): number {
  if (typeof value !== "object" || value === null) return 0;
  let count = 0;
  if (Array.isArray(value)) for (const item of value) count += memberCount(item);
  else {
    const members = Object.values(value);
    count = members.length;
    for (const member of members) count += memberCount(member);
  }
  return count;
}
