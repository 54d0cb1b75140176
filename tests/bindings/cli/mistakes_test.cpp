#include <fmt/format.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <fstream>

#include "tests/bindings/cli/lacuna_command.hpp"

namespace lacuna::cli {
namespace {

struct Mistake {
  std::vector<std::string> arguments;
  std::string text;  // a part of what is said about it
};

TEST(Command, MistakesAreErrorsThatSayWhatIsAllowed) {
  const std::vector<Mistake> mistakes = {
      {{}, "subcommand is required"},
      {{"nonsense"},
       "lacuna: no command is called 'nonsense'; there are: info, list, graph, explain, perf, compare, tune, launch, "
       "aggregate, run, watch, show, plot, replay, trace, completion, manual"},
      {{"prf", "allreduce"}, "no command is called 'prf' (did you mean perf?); there are: info, "},
      {{"list", "--nonsense"}, "lacuna list: no option is called '--nonsense'; `lacuna list --help` lists them"},
      {{"list", "skip", "topk"}, "lacuna list: the argument 'topk' is one too many"},
      {{"graph"}, "collective is required"},
      {{"graph", "allreduce", "--ranks", "0"}, "--ranks: 0 must be 1 .. 65536"},
      {{"graph", "allreduce", "--ranks", "2", "--position", "2"}, "position is 2, must be 0 .. 1"},
      {{"graph", "allreduce", "-a", "ring", "--set", "rounds"}, "--set: 'rounds' must be NAME=VALUE"},
      {{"graph", "allreduce", "-a", "ring", "--set", "round=1"},
       "--set: the program has no parameter 'round' (did you mean rounds?); it has rounds, gather_rounds, keep"},
      {{"graph", "allreduce", "-a", "ring", "--set", "rounds=-1"}, "--set: rounds is -1, must be 0 .. 2147483647"},
      {{"graph", "barrier", "--set", "rounds=1"}, "--set: the program of barrier board has no parameters"},
      {{"graph", "allreduce", "--ranks", "2", "--position", "-1"}, "--position"},
      {{"graph", "barrier", "--algorithm", "ring"}, "there are: dissemination"},
      {{"perf", "allreduce", "--device", "gpu"},
       "--device: no memory of the buffers is called 'gpu'; there are: cuda, host"},
      {{"graph", "allreduce", "--algorithm", "double_tre"},
       "is called 'double_tre' (did you mean double_tree?); there "},
      {{"list", "skp"}, "method: no method is called 'skp' (did you mean skip?); there are: skip, "},
      {{"graph", "allreduce", "-a", "skip_ring", "--ranks", "4", "--method", "skip:steps=4"},
       "skip.steps is 4, must be 0 .. 3"},
      {{"graph", "allreduce", "-a", "recursive_doubling", "--method", "skip:steps=1"},
       "allreduce recursive_doubling does not serve the method skip; there are: ring, halving_doubling"},
      {{"graph", "broadcast", "--method", "skip:steps=1"},
       "broadcast tree does not serve the method skip; no algorithm of that collective does"},
      {{"graph", "allreduce", "--method", "skip:mode=sometimes"},
       "mode is sometimes, must be static, random or shuffled"},
      {{"graph", "allreduce", "--method", "skip:mode=radnom"}, "did you mean random?"},
      {{"graph", "allreduce", "--method", "skip:stesp=1"}, "skip has no option 'stesp' (did you mean steps?); it has "},
      {{"graph", "allreduce", "--method", "skip:zzzzzzzz=1"}, "skip has no option 'zzzzzzzz'; it has steps, ratio, "},
      {{"graph", "allreduce", "--method", "skp:steps=1"},
       "no method is called 'skp' (did you mean skip?); there are: skip"},
      {{"graph", "allreduce", "--method", ""}, "--method"},
      {{"graph", "allreduce", "--method", "skip:steps"}, "skip: 'steps' is no option=value"},
      {{"graph", "allreduce", "--method", "skip:steps=-1"}, "steps is -1, must be 0 .. 2147483647"},
      {{"graph", "allreduce", "--method", "skip:steps=two"}, "steps is two, must be 0 .. 2147483647"},
      {{"graph", "allreduce", "--method", "skip:steps="}, "steps is empty, must be 0 .. 2147483647"},
      {{"graph", "allreduce", "--method", "skip:steps=1,ratio=0.5"}, "one of them must be 0"},
      {{"graph", "allreduce", "--method", "skip:feedback=2"}, "feedback is 2, must be 0 or 1"},
      {{"graph", "allreduce", "--method", "skip:ratio=nan"}, "ratio is nan, must be 0 .. 1"},
      {{"graph", "allreduce", "--method", "skip:schedule=1"}, "schedule is 1, must be RUN:VALUE/RUN:VALUE/..."},
      {{"explain", "allreduce", "-p", "8", "--method", "skip:steps=9"}, "skip.steps is 9, must be 0 .. 7 on 8 ranks"},
      {{"perf", "allreduce", "--pattern", "skewed"}, "--pattern requires --density"},
      {{"perf", "allreduce", "--density", "1.5"}, "--density: 1.5 must be 1e-09 .. 1"},
      {{"perf", "allreduce", "--densty", "0.1"},
       "lacuna perf: no option is called '--densty' (did you mean --density?); `lacuna perf --help` lists them"},
      {{"perf", "allreduce", "--stepfacor=4"}, "did you mean --stepfactor?"},
      {{"perf", "allreduce", "--density", "0.1,0"}, "--density: 0 must be"},
      {{"perf", "allreduce", "--density", "much"}, "--density: much must be a share, such as 10% or 0.1"},
      {{"perf", "allreduce", "--density", "0.1", "--pattern", "powerlaw"},
       "the pattern is 'powerlaw', must be uniform, overlap, clustered, powerlaw:A with A in 0.05 .. 1"},
      {{"explain", "allreduce", "--fill-in", "2"}, "--fill-in: 2 must be 0 .. 1"},
      {{"explain", "allreduce", "--rate", "1gbits"}, "--rate: 1gbits must be a rate, such as 1gbit, "},
      {{"explain", "allreduce", "--latency", "0"}, "--latency: 0 must be a time, such as 20us"},
      {{"compare", "/dev/null", "/dev/null", "-t", "-10%"}, "--tolerance: -10% must be a share"},
      {{"explain", "allreduce", "--fill-in", "0.5", "--pattern", "skewed"}, "--fill-in excludes --pattern"},
      {{"explain", "allreduce", "--pattern", "rows:0"}, "the pattern is 'rows:0', must be uniform"},
      {{"graph", "allreduce", "--ranks", "2", "--hosts", "1,1"}, "--ranks"},
      {{"graph", "allreduce", "--hosts", "2,0"}, "--hosts: 0 must be 1 .. 1024"},
      {{"graph", "topology"}, "name is required"},
      {{"graph", "topology", "circle"}, "name: no topology is called 'circle'; there are: "},
      {{"graph", "topology", "tours"}, "(did you mean torus?)"},
      {{"graph", "topology", "ring", "--side", "2,3"},
       "lacuna graph topology: no option is called '--side' (did you mean --sides"},
      {{"graph", "topology", "hypercube", "--ranks", "6"}, "a hypercube of 6 positions: must be a power of two"},
      {{"graph", "topology", "torus", "--sides", "0,3"}, "a torus of 0 x 3"},
      {{"graph", "topology", "ring", "--lists", "0,2"}, "place 1 of a ring has position 2, must be 0 .. 1"},
      {{"graph", "topology", "parents", "--lists", "a"}, "must be numbers"},
      {{"graph", "topology", "parents"}, "parents: --lists is needed"},
      {{"graph", "topology", "hypercube", "--lists", "1;0"}, "hypercube: it takes no --lists"},
      {{"graph", "topology", "ring", "--sides", "2,3"}, "ring: only a torus has --sides"},
      {{"graph", "topology", "torus", "--sides", "3,5", "--ranks", "12"}, "--ranks excludes --sides"},
      {{"explain", "allreduce", "--hosts", "400,400"}, "800 ranks, must be at most 512"},
      {{"perf"}, "collective is required"},
      {{"perf", "allredcue"},
       "collective: no collective is called 'allredcue' (did you mean allreduce?); there are: allgather, allgatherv, "},
      {{"perf", "allreduce", "--nonsense"}, "--nonsense"},
      {{"perf", "allreduce", "-d", "f8"},
       "no element type is called 'f8'; there are: bf16, c128, c64, f16, f32, f64, i16, i32, i64, i8, u16, u32, u64, "
       "u8"},
      {{"perf", "allreduce", "-o", "summ"}, "no reduction is called 'summ' (did you mean sum?); there are: avg"},
      {{"perf", "allreduce", "-o", "mean"}, "no reduction is called 'mean'; there are: avg, max, min, prod, sum"},
      {{"perf", "allreduce", "-b", "-5"}, "--minbytes: -5 must be a number of bytes up to 1T, such as 512, 64K or 32M"},
      {{"perf", "allreduce", "-e", "2T"}, "--maxbytes"},
      {{"perf", "allreduce", "-b", "1x"}, "--minbytes"},
      {{"perf", "allreduce", "-b", "1M", "-e", "1K"}, "-b must be at most -e"},
      {{"perf", "allreduce", "-b", "1T", "-e", "1T"}, "do not fit into memory"},
      {{"perf", "allreduce", "-f", "1"}, "--stepfactor: 1 must be 2 .. 1048576"},
      {{"perf", "allreduce", "-f", "2.5"}, "--stepfactor: 2.5 must be 2 .. 1048576"},
      {{"perf", "allreduce", "-n", "0"}, "--iters: 0 must be at least 1"},
      {{"perf", "allreduce", "-w", "-1"}, "--warmup_iters"},
      {{"perf", "allreduce", "--algorithm", "ring,rings"}, "there are: ring, recursive_doubling"},
      {{"perf", "allreduce", "-e", "8", "-J", "/tmp"}, "/tmp could not be written: it is a folder, not a regular file"},
      {{"perf", "allreduce", "--method", "skip:steps=1", "--algorithm", "recursive_doubling"},
       "none of the algorithms serves skip"},
      {{"perf", "broadcast", "--method", "skip:steps=1"}, "none of the algorithms serves skip"},
      {{"perf", "sendrecv", "--method", "skip:steps=1"}, "neither --algorithm nor --method"},
      {{"perf", "allreduce", "--method", "skip:ratio=1.5"}, "ratio is 1.5, must be 0 .. 1"},
      {{"perf", "allreduce", "-o", "avg", "-d", "i32"}, "avg of i32"},
      {{"perf", "broadcast", "-r", "1"}, "root is 1, must be 0 .. 0"},
      {{"perf", "broadcast", "-r", "-1"}, "--root: -1 must be at least 0"},
      {{"perf", "allreduce", "-r", "0"}, "--root: allreduce has no root"},
      {{"perf", "sendrecv", "-r", "0"}, "--root: sendrecv has no root"},
      {{"perf", "barrier", "--groups", "2"}, "--groups is 2, must be 1 .. 1"},
      {{"perf", "allreduce", "-e", "8", "-J", "/nonexistent/x.json"}, "/nonexistent/x.json could not be written"},
      {{"trace"}, "folder is required"},
      {{"trace", "/nonexistent"}, "/nonexistent: No such file or directory"},
      {{"launch"}, "--ranks is required"},
      {{"launch", "-n", "2"}, "0 words"},
      {{"launch", "-n"}, "--ranks: 1 required"},
      {{"launch", "-n", "0", "true"}, "--ranks: 0 must be 1 .. 1024"},
      {{"launch", "-n", "two", "true"}, "--ranks: two must be 1 .. 1024"},
      {{"launch", "-n", "2", "--nonsense", "true"}, "lacuna launch: no option is called '--nonsense'"},
      {{"launch", "-n", "2", "/nonexistent/program"}, "cannot execute '/nonexistent/program'"}};
  for (const Mistake& mistake : mistakes) {
    const Outcome outcome = lacuna(mistake.arguments);
    const std::string line = testing::PrintToString(mistake.arguments);
    EXPECT_GT(outcome.exit_code, 0) << line << outcome.output;
    EXPECT_LT(outcome.exit_code, 128) << line << outcome.output;
    EXPECT_NE(outcome.output.find(mistake.text), std::string::npos) << line << outcome.output;
  }
}

TEST(Command, AMistakeIsSaidOnceAndNotByEachRank) {
  const auto launched = [](std::vector<std::string> arguments) {
    arguments.insert(arguments.begin(), {"launch", "-np", "3", "--", LACUNA_COMMAND});
    return lacuna(arguments);
  };
  const Outcome misspelt = launched({"perf", "allredcue"});
  EXPECT_EQ(misspelt.exit_code, 2) << misspelt.output;
  EXPECT_EQ(count(misspelt.output, "did you mean allreduce"), 1u) << misspelt.output;
  EXPECT_EQ(count(misspelt.output, "\\[\\d\\]|process"), 0u) << "no rank was started: " << misspelt.output;
  const Outcome help = launched({"perf", "--help"});
  EXPECT_EQ(help.exit_code, 0);
  EXPECT_EQ(count(help.output, "Usage: lacuna perf"), 1u) << help.output;
  for (const char* wrong : {"--algorithm=rings", "--minbytes=1G", "--groups=4", "--json=/nonexistent/x"}) {
    const Outcome refused = launched({"perf", "allreduce", wrong});
    EXPECT_EQ(refused.exit_code, 1) << refused.output;
    EXPECT_EQ(count(refused.output, "lacuna perf: "), 1u) << refused.output;
  }
}

TEST(Command, HelpShowsDefaultsAndWordsForWhatIsToBeGiven) {
  const std::vector<std::vector<std::string>> commands = {{"info"},    {"list"},  {"graph"},    {"graph", "topology"},
                                                          {"explain"}, {"perf"},  {"compare"},  {"launch"},
                                                          {"replay"},  {"trace"}, {"aggregate"}};
  for (std::vector<std::string> command : commands) {
    command.emplace_back("--help");
    const std::string help = lacuna(command).output;
    EXPECT_EQ(count(help, " (UINT|INT|FLOAT|TEXT)| in \\["), 0u) << help;
  }
  const std::string perf = lacuna({"perf", "--help"}).output;
  for (const char* line :
       {"-b,--minbytes SIZE=8 ", "-e,--maxbytes SIZE=32M ", "-f,--stepfactor N=2 ", "-c,--check 0\\|1=1",
        "-d,--datatype NAME=f32 ", "--priority NAME=normal ", "--pattern PATTERN=uniform "}) {
    EXPECT_EQ(count(perf, line), 1u) << line << perf;
  }
  const std::string explain = lacuna({"explain", "--help"}).output;
  for (const char* line : {"--latency TIME=20 us ", "--rate RATE=1gbit ", "--density SHARE=100% ", "--ranks N=4 "}) {
    EXPECT_EQ(count(explain, line), 1u) << line << explain;
  }
}

}  // namespace
}  // namespace lacuna::cli
