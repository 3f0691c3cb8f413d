/** Finds proto files by what is declared in them, for server reflection. */
import { createRegistry, type DescExtension, type DescFile, type Registry } from "@bufbuild/protobuf";

/** Files and their imports. Names are fully qualified, without a leading dot. */
interface DescriptorIndex {
  /** By path: `google/api/http.proto`. */
  fileByPath(path: string): DescFile | undefined;
  /** By a service, method, message, field, oneof, enum, enum value or extension declared in it. */
  fileBySymbol(name: string): DescFile | undefined;
  /** The extensions of a message by number: undefined for an unknown message, empty for one that nothing extends. */
  extensionsOf(message: string): ReadonlyMap<number, DescExtension> | undefined;
}

/** Indexes the files and their imports. */
export function indexDescriptors(roots: Iterable<DescFile>): DescriptorIndex {
  const files = new Map<string, DescFile>();
  const add = (file: DescFile) => {
    if (files.has(file.proto.name)) return;
    files.set(file.proto.name, file);
    file.dependencies.forEach(add);
  };
  for (const file of roots) add(file);
  const types = createRegistry(...files.values());
  const members = new Map([...types].flatMap((type) => membersOf(type).map((name) => [name, type.file])));
  return {
    fileByPath: (path) => files.get(path),
    fileBySymbol: (name) => types.get(name)?.file ?? members.get(name),
    extensionsOf(message) {
      if (types.getMessage(message) === undefined) return undefined;
      const extensions = [...types].filter((type) => type.kind === "extension");
      const own = extensions.filter(({ extendee }) => extendee.typeName === message);
      return new Map(own.map((extension) => [extension.number, extension]));
    },
  };
}

/** The full names of what is declared in a type. The values of an enum are declared beside it, not in it. */
function membersOf(type: Registry extends Iterable<infer T> ? T : never): string[] {
  const within = (scope: string, members: readonly { readonly name: string }[]) =>
    members.map(({ name }) => `${scope}${name}`);
  switch (type.kind) {
    case "message":
      return within(`${type.typeName}.`, [...type.fields, ...type.oneofs]);
    case "service":
      return within(`${type.typeName}.`, type.methods);
    case "enum":
      return within(type.typeName.slice(0, type.typeName.lastIndexOf(".") + 1), type.values);
    case "extension":
      return [];
  }
}
