// The name under which requests of one kind are listed together.
#pragma once

#include <string>
#include <string_view>

namespace flamegate::agent {

// Replaces path segments that look like ids by `:id`: digits, UUIDs, hexadecimal of 8 or more with
// a digit in it, and words of 20 or more with a digit in them. "/users/42/edit" is
// "/users/:id/edit".
std::string foldIds(std::string_view path);

// The configured route's name; else METHOD and the framework's template; else METHOD and the folded
// path. Empty texts are absent.
std::string routeLabel(std::string_view configured, std::string_view method,
                       std::string_view agents_route, std::string_view path);

}  // namespace flamegate::agent
