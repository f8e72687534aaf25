// Holds a pointer to any callable that is called only before the call it was passed to returns.
#pragma once

#include <memory>
#include <type_traits>
#include <utility>

namespace sennit {

template <class Signature>
class FunctionRef;

/// Neither owns nor copies what it calls, as std::function does: it costs no allocation, and it must not outlive the
/// expression that made it of a temporary.
template <class Made, class... Arguments>
class FunctionRef<Made(Arguments...)> {
 public:
  template <class Function>
  requires(!std::is_same_v<std::remove_cvref_t<Function>, FunctionRef> &&
           std::is_invocable_r_v<Made, const Function&, Arguments...>) FunctionRef(const Function& function)
      : function_(std::addressof(function)), call_([](const void* called, Arguments... arguments) -> Made {
          return (*static_cast<const Function*>(called))(std::forward<Arguments>(arguments)...);
        }) {}

  Made operator()(Arguments... arguments) const { return call_(function_, std::forward<Arguments>(arguments)...); }

 private:
  const void* function_;
  Made (*call_)(const void*, Arguments...);
};

}  // namespace sennit
