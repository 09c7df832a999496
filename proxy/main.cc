// The command line: which part of flamegate to be.
#include <cstdio>
#include <string>
#include <string_view>

#include "proxy/server/process.h"
#include "proxy/tools.h"

namespace {

using namespace flamegate;

constexpr char kUsage[] =
    "usage: flamegate COMMAND [OPTIONS]\n"
    "\n"
    "  run -c FILE                        the proxy and its control process\n"
    "  run --listen ADDR --upstream URL [--store PATH|redis://…]\n"
    "                                     the same without a file\n"
    "  control -c FILE                    control alone\n"
    "  check -c FILE                      says \"ok\", or each fault of the file\n"
    "  token -c FILE --allow RIGHTS --ttl TIME [--for NAME] [--link URL]\n"
    "                                     a signed token, or a link with one\n"
    "  get ID -c FILE [--format F] [-o OUT]\n"
    "                                     a stored profile\n"
    "  convert IN OUT [--from F] [--to F] a profile in another format\n"
    "  version\n"
    "\n"
    "  flamegate COMMAND --help           the options of a command\n";

int runProxy(int argc, char** argv) {
  ConfigSource source;
  if (const auto exit_status = parseOptions(argc, argv, kUsage, source, {}, nullptr)) {
    return *exit_status;
  }
  if (optind < argc) return usageError(std::string("unexpected argument ") + argv[optind]);
  if (!source.given()) return usageError("run needs -c FILE, or --listen and --upstream");
  proxy::ProcessOptions options;
  options.command_line = {"flamegate"};
  options.command_line.insert(options.command_line.end(), argv, argv + argc);
  options.load = [source] { return source.load(); };
  options.control_arguments = source.arguments();
  options.control_arguments.insert(options.control_arguments.begin(), "control");
  options.explain_agents = source.file.empty();
  return proxy::Process(std::move(options)).run();
}

int checkConfig(int argc, char** argv) {
  ConfigSource source;
  if (const auto exit_status = parseOptions(argc, argv, kUsage, source, {}, nullptr)) {
    return *exit_status;
  }
  if (source.file.empty()) return usageError("check needs -c FILE");
  auto loading = source.load();
  if (!loading) {
    for (const config::Fault& fault : loading.error()) std::puts(config::toText(fault).c_str());
    return 1;
  }
  for (const config::Fault& warning : loading->warnings) {
    std::fprintf(stderr, "warning: %s\n", config::toText(warning).c_str());
  }
  std::puts("ok");
  return 0;
}

int printVersion(int, char**) {
  std::puts("flamegate " FLAMEGATE_VERSION);
  return 0;
}

struct Command {
  std::string_view name;
  int (*run)(int argc, char** argv);
};

constexpr Command kCommands[] = {
    {"run", runProxy},         {"control", runControlCommand}, {"check", checkConfig},
    {"token", makeToken},      {"get", getProfileCommand},     {"convert", convertCommand},
    {"version", printVersion},
};

}  // namespace

int main(int argc, char** argv) {
  if (argc < 2) return usageError("a command is needed");
  const std::string_view name = argv[1];
  if (name == "--help" || name == "-h" || name == "help") {
    std::fputs(kUsage, stdout);
    return 0;
  }
  for (const Command& command : kCommands) {
    if (command.name == name) return command.run(argc - 1, argv + 1);
  }
  return usageError("no command " + std::string(name));
}
