/**
 * Programs for the shell of a node. They are constant: what a user chooses reaches them as arguments. Each gets the name of a
 * folder of its own in the home directory, which holds the process id of the command and the files that were copied.
 */

/** Says that what follows is data, and no output of a start file of the login shell. Argument: the line that says so, or nothing. */
const MARK = (marker: string) => `[ -z "${marker}" ] || printf '\\n%s\\n' "${marker}"`;

/**
 * Runs a command in a directory below the folder. Arguments: folder, directory or nothing, line before the output or nothing, command.
 * Signals are for the command.
 */
export const RUN = `
trap : INT TERM HUP
home=$PWD folder=$1 directory=$2; ${MARK('$3')}; shift 3
mkdir -p -m 700 "$folder" && echo $$ >"$folder/pid" || exit 1
[ -z "$directory" ] || cd "./$folder/$directory" || exit 1
"$@"
status=$?
cd "$home"; rm -f "$folder/pid"; rmdir "$folder" 2>/dev/null
exit $status`;

/** Begins a login shell in a directory below the folder. Arguments: folder, directory. */
export const LOGIN = `cd "./$1/$2" && exec "\${SHELL:-/bin/sh}" -l`;

/** Unpacks its input in a directory below the folder. Arguments: folder, directory. */
export const UNPACK = `mkdir -p -m 700 "$1" && mkdir -p "$1/$2" && cd "./$1/$2" && exec tar -x -o -f -`;

/** Exit status of {@link PACK} when there is no such file. */
export const NOTHING_TO_PACK = 44;

/** Packs one file. Arguments: folder, directory below it or nothing, directory of the file, name of the file, line before the archive. */
export const PACK = `
${MARK('$5')}
[ -z "$2" ] || cd "./$1/$2" || exit ${NOTHING_TO_PACK}
cd "$3" 2>/dev/null && { [ -e "./$4" ] || [ -L "./$4" ]; } || exit ${NOTHING_TO_PACK}
exec tar -c -f - "./$4"`;

const GROUP = `pid=$(cat "$1/pid" 2>/dev/null) && group=$(ps -o pgid= -p "$pid" | tr -d ' ') && [ -n "$group" ]`;

/** Sends a signal to the command. Arguments: folder, name of the signal. */
export const SIGNAL = `${GROUP} && kill -s "$2" -- "-$group"`;

/** Ends the command, with SIGKILL after three seconds, and removes the folder. Arguments: folder. */
export const END = `
if ${GROUP}; then
  kill -s TERM -- "-$group"
  looks=0
  while kill -s 0 -- "-$group" 2>/dev/null && [ $looks -lt 30 ]; do sleep 0.1 || sleep 1; looks=$((looks + 1)); done
  kill -s KILL -- "-$group" 2>/dev/null
fi
rm -rf "$1"`;
