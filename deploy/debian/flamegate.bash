# Completion of flamegate's command line for bash.
_flamegate() {
  local word=${COMP_WORDS[COMP_CWORD]} previous=${COMP_WORDS[COMP_CWORD - 1]} options
  local formats="pprof speedscope collapsed callgrind pstats chrome cpuprofile svg html json"
  if [ "$COMP_CWORD" -eq 1 ]; then
    mapfile -t COMPREPLY < <(compgen -W "run control check token get convert version --help" -- "$word")
    return
  fi
  case $previous in
    -c | -o)
      mapfile -t COMPREPLY < <(compgen -f -- "$word")
      return ;;
    --format | --from | --to)
      mapfile -t COMPREPLY < <(compgen -W "$formats" -- "$word")
      return ;;
    --allow)
      mapfile -t COMPREPLY < <(compgen -W "trigger view manage" -- "$word")
      return ;;
  esac
  case ${COMP_WORDS[1]} in
    run) options="-c --listen --upstream --store --help" ;;
    control | check) options="-c --help" ;;
    token) options="-c --allow --ttl --for --link --help" ;;
    get) options="-c --format -o --help" ;;
    convert) options="--from --to --help" ;;
    *) options= ;;
  esac
  if [[ $word == -* ]]; then
    mapfile -t COMPREPLY < <(compgen -W "$options" -- "$word")
  else
    mapfile -t COMPREPLY < <(compgen -f -- "$word")
  fi
}
complete -o filenames -F _flamegate flamegate
