// Makes the stored profile out of the parts of a request.
#pragma once

#include "control/executor.h"
#include "control/join.h"
#include "proxy/base/result.h"
#include "proxy/base/thread_pool.h"

namespace flamegate::control {

// The canonical file of a record: what is stored already and one more part, labelled with endpoint
// and profile id, with the conditions of the capture in its comments. The file remembers its parts.
// Conflict: this part is in it already. Refused: another part of that name is. TooLarge: the whole
// is over a limit. Takes milliseconds to seconds; for the pool.
proxy::Result<Assembled> assembleParts(const PartAssembler::Input& input);

// Runs assembleParts() on the pool.
// Owner: control's main. Thread: control's. Ends: after the pool.
class PoolAssembler final : public PartAssembler {
 public:
  PoolAssembler(Executor& executor, proxy::ThreadPool& pool) : executor_(executor), pool_(pool) {}

  // Full when the pool's queue is.
  void assemble(Input input, AssembleDone done) override;

 private:
  Executor& executor_;
  proxy::ThreadPool& pool_;
};

}  // namespace flamegate::control
