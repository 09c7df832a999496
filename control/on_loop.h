// Brings results of other threads home to control's thread.
#pragma once

#include <functional>
#include <utility>

#include "control/executor.h"
#include "control/store/store.h"

namespace flamegate::control {

// A callback for the store that hands its result to `done` on the executor's thread.
template <typename T, typename Callback>
Done<T> onLoop(Executor& executor, Callback done) {
  return [&executor, done = std::move(done)](proxy::Result<T> result) mutable {
    executor.post([done = std::move(done), result = std::move(result)]() mutable {
      done(std::move(result));
    });
  };
}

}  // namespace flamegate::control
