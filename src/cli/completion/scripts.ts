/**
 * The scripts that connect shells with `platform __complete`. The first line of its answer is `files` or `words`; each
 * further one is a candidate.
 */

const bash = `# Completion of platform for bash 4 and newer.
_platform() {
  local line mode=
  COMPREPLY=()
  if [[ $COMP_CWORD -gt 0 && \${COMP_WORDS[COMP_CWORD-1]} == *[\\<\\>]* ]]; then
    compopt -o default
    return
  fi
  while IFS= read -r line; do
    if [[ -z $mode ]]; then mode=$line; else COMPREPLY+=("$line"); fi
  done < <("$1" __complete --line="\${COMP_LINE:0:COMP_POINT}" --breaks="$COMP_WORDBREAKS" 2>/dev/null)
  if [[ $mode == files ]]; then
    compopt -o default
  elif [[ \${#COMPREPLY[@]} -eq 1 && \${COMPREPLY[0]} == *[=./:] ]]; then
    compopt -o nospace
  fi
}
complete -F _platform platform platform-api
`;

const zsh = `#compdef platform platform-api
# Completion of platform for zsh, after compinit.
_platform() {
  local line value
  local -a lines plain partial
  lines=("\${(@f)$("\${(Q)words[1]}" __complete -- "\${(@Q)words[2,CURRENT-1]}" "\${(Q)PREFIX}" 2>/dev/null)}")
  if [[ $lines[1] == files ]]; then
    compset -P '--*='
    _files
    return
  fi
  for line in "\${(@)lines[2,-1]}"; do
    value=\${line%%$'\\t'*}
    line=\${\${value//\\\\/\\\\\\\\}//:/\\\\:}:\${line#*$'\\t'}
    if [[ $value == *[=./:] ]]; then partial+=("$line"); else plain+=("$line"); fi
  done
  _describe value plain -- partial -S ''
}
compdef _platform platform platform-api
`;

const fish = `# Completion of platform for fish.
function __platform_complete
    set -l words (commandline -opc)
    set -l program $words[1]
    set -e words[1]
    set -l word (commandline -ct)
    set -l lines (command $program __complete -- $words "$word" 2>/dev/null)
    if test "$lines[1]" = files
        __fish_complete_path "$word"
    else
        string join \\n -- $lines[2..]
    end
end
complete -c platform -f -a '(__platform_complete)'
complete -c platform-api -w platform
`;

/** The script of each shell. */
export const completionScripts = { bash, zsh, fish } as const;
