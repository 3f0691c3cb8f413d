/** Finds proto files by what is declared in them, for server reflection. */
import type { DescEnum, DescExtension, DescFile, DescMessage, DescService } from "@bufbuild/protobuf";

/** Files and their imports. Names are fully qualified, without a leading dot. */
export interface DescriptorIndex {
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
  const symbols = new Map<string, DescFile>();
  const extensions = new Map<string, Map<number, DescExtension>>();

  const addFile = (file: DescFile) => {
    if (files.has(file.proto.name)) return;
    files.set(file.proto.name, file);
    file.dependencies.forEach(addFile);
    for (const service of file.services) addService(service);
    for (const message of file.messages) addMessage(message);
    for (const enumeration of file.enums) addEnum(enumeration);
    for (const extension of file.extensions) addExtension(extension);
  };
  const addService = ({ file, typeName, methods }: DescService) => {
    symbols.set(typeName, file);
    for (const method of methods) symbols.set(`${typeName}.${method.name}`, file);
  };
  const addMessage = (message: DescMessage) => {
    const { file, typeName } = message;
    symbols.set(typeName, file);
    extensionsOf(message);
    for (const { name } of [...message.fields, ...message.oneofs]) symbols.set(`${typeName}.${name}`, file);
    for (const nested of message.nestedMessages) addMessage(nested);
    for (const nested of message.nestedEnums) addEnum(nested);
    for (const nested of message.nestedExtensions) addExtension(nested);
  };
  const extensionsOf = ({ typeName }: DescMessage) => {
    const known = extensions.get(typeName) ?? new Map<number, DescExtension>();
    extensions.set(typeName, known);
    return known;
  };
  /** The values of an enum are declared beside it, not in it. */
  const addEnum = ({ file, typeName, values }: DescEnum) => {
    symbols.set(typeName, file);
    const scope = typeName.slice(0, typeName.lastIndexOf(".") + 1);
    for (const value of values) symbols.set(scope + value.name, file);
  };
  const addExtension = (extension: DescExtension) => {
    symbols.set(extension.typeName, extension.file);
    extensionsOf(extension.extendee).set(extension.number, extension);
  };

  for (const file of roots) addFile(file);
  return {
    fileByPath: (path) => files.get(path),
    fileBySymbol: (name) => symbols.get(name),
    extensionsOf: (message) => extensions.get(message),
  };
}
