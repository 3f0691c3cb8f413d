/** What the last word of a command line may be, by the commands, their options and their arguments. */
import type { Argument, Command, Option } from "commander";
import { type Candidate, serviceCandidates, type ValuePlace, valueCandidates } from "../../remote/index.ts";

/** Values that are names of files, by their placeholders. Shells know them better. */
const filePlaceholder = /^(FILE|PATH|DIR|FOLDER)\b/i;

/** Where the last word is. */
interface Place extends Pick<ValuePlace, "command" | "operands" | "options" | "word"> {
  /** The option that the word before needs a value for. */
  readonly open: Option | undefined;
  /** Whether the word may be an option. */
  readonly takesOptions: boolean;
}

/**
 * The candidates for the last of `words`, which may be empty; "files" where it is the name of a file. Shells leave out
 * those that do not begin with it.
 * @param program with the command that is called.
 */
export async function candidatesFor(
  program: Command,
  words: readonly string[],
): Promise<readonly Candidate[] | "files"> {
  const place = placeOf(program, words);
  const { command, open, operands, word } = place;
  const help = command.createHelp();
  if (open !== undefined) return valuesOf(place, open);
  const [, name, value] = (place.takesOptions && /^(--[^=]+)=(.*)$/s.exec(word)) || [];
  if (name !== undefined) {
    const option = command.options.find(({ long }) => long === name);
    const found = option === undefined ? [] : await valuesOf({ ...place, word: value! }, option);
    return found === "files" ? found : found.map((it) => ({ ...it, value: `${name}=${it.value}` }));
  }
  if (place.takesOptions && word.startsWith("-"))
    return help
      .visibleOptions(command)
      .map(({ long, short, description }) => ({ value: long ?? short!, description: firstLine(description) }));
  if (command.commands.length > 0 && operands.length === 0) {
    const commands = help
      .visibleCommands(command)
      .flatMap((it) =>
        [it.name(), it.alias() ?? []].flat().map((value) => ({ value, description: firstLine(it.description()) })),
      );
    if (command !== program) return commands;
    return [...commands, ...(await serviceCandidates(new Set(commands.map(({ value }) => value))))];
  }
  const argument = command.registeredArguments[operands.length] ?? command.registeredArguments.at(-1);
  return argument === undefined || (operands.length >= command.registeredArguments.length && !argument.variadic)
    ? []
    : valuesOf(place, argument);
}

/** Follows the words before the last. */
function placeOf(program: Command, words: readonly string[]): Place {
  let command = program;
  let operands: string[] = [];
  let open: Option | undefined;
  let isOpenFilled = false;
  let takesOptions = true;
  const options = new Map<string, string>();
  const isValue = (text: string) => open !== undefined && ((open.required && !isOpenFilled) || !text.startsWith("-"));
  for (const text of words.slice(0, -1)) {
    if (open !== undefined && isValue(text)) {
      options.set(open.long!, text);
      isOpenFilled = true;
      if (!open.variadic) open = undefined;
      continue;
    }
    open = undefined;
    const child = operands.length === 0 ? command.commands.find((it) => isNamed(it, text)) : undefined;
    if (takesOptions && text === "--") takesOptions = false;
    else if (takesOptions && text.startsWith("-")) {
      const [name, value] = text.split(/=(.*)/s);
      const option = command.options.find(({ long, short }) => name === long || name === short);
      if (value !== undefined) options.set(name!, value);
      else if (option?.required || option?.optional) {
        open = option;
        isOpenFilled = false;
      }
    } else if (child !== undefined) command = child;
    else operands = [...operands, text];
  }
  const word = words.at(-1) ?? "";
  return { command, operands, options, word, takesOptions, open: isValue(word) ? open : undefined };
}

async function valuesOf(place: Place, parameter: Option | Argument): Promise<readonly Candidate[] | "files"> {
  if (parameter.argChoices !== undefined) return parameter.argChoices.map((value) => ({ value, description: "" }));
  const placeholder = placeholderOf(parameter);
  return filePlaceholder.test(placeholder) ? "files" : valueCandidates({ ...place, parameter, placeholder });
}

/** `FILE` for `-f, --filename <FILE...>`. */
function placeholderOf(parameter: Option | Argument): string {
  return "flags" in parameter ? (/[<[](.+?)(?:\.\.\.)?[>\]]/.exec(parameter.flags)?.[1] ?? "") : parameter.name();
}

function isNamed(command: Command, name: string): boolean {
  return command.name() === name || command.aliases().includes(name);
}

function firstLine(text: string): string {
  return text.split(/\.\s|\n/)[0]!;
}
