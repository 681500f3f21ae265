// The same bytes for many sockets: a frame for all of its subscribers.

#include "kernel.h"

#ifndef _WIN32

#include <algorithm>
#include <climits>
#include <optional>
#include <sys/socket.h>
#include <sys/types.h>
#include <vector>

namespace kernel {
namespace {

#ifdef MSG_NOSIGNAL
constexpr int send_flags = MSG_DONTWAIT | MSG_NOSIGNAL;
#else
constexpr int send_flags = MSG_DONTWAIT;  // Python ignores SIGPIPE
#endif

constexpr std::size_t few = 8;  // writes that take less time than it takes to get the GIL back

std::vector<int> descriptors_in(PyObject *list) {
    if (!PyList_Check(list)) raise(PyExc_TypeError, "send_to_all takes a list of descriptors, and bytes");
    std::vector<int> descriptors;
    descriptors.reserve(static_cast<std::size_t>(PyList_Size(list)));
    for (Py_ssize_t i = 0; i < PyList_Size(list); ++i) {
        PyObject *item = PyList_GetItem(list, i);
        // Only an int itself is read without Python code, which could change the list meanwhile.
        if (!PyLong_CheckExact(item)) raise(PyExc_TypeError, "descriptors are integers");
        const auto descriptor = number_of(item);
        descriptors.push_back(descriptor >= 0 && descriptor <= INT_MAX ? static_cast<int>(descriptor) : -1);
    }
    return descriptors;
}

}  // namespace

Owned send_to_all(PyObject *, Arguments arguments) {
    const std::vector<int> descriptors = descriptors_in(arguments[0]);
    const Bytes data(arguments[1]);
    std::vector<ssize_t> taken(descriptors.size(), -1);  // bytes
    {
        std::optional<WithoutGil> others_run;
        if (descriptors.size() > few) others_run.emplace();
        for (std::size_t i = 0; i < descriptors.size(); ++i)
            if (descriptors[i] >= 0)
                taken[i] = send(descriptors[i], data.begin, static_cast<std::size_t>(data.size), send_flags);
    }
    Owned shortfalls = checked(PyList_New(0));
    for (std::size_t i = 0; i < taken.size(); ++i) {
        if (taken[i] == data.size) continue;
        const ssize_t bytes = std::max<ssize_t>(taken[i], 0);
        check(PyList_Append(shortfalls, checked(Py_BuildValue("nn", static_cast<Py_ssize_t>(i), bytes))));
    }
    return shortfalls;
}

}  // namespace kernel

#endif
