// The same bytes for many sockets: a frame for all of its subscribers.

#include "kernel.h"

#ifndef _WIN32

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

// The index of a socket, and how many bytes it took.
struct Shortfall {
    std::size_t index;
    ssize_t taken;
};

std::vector<int> descriptors_in(PyObject *list) {
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

std::vector<Shortfall> send_each(const std::vector<int> &descriptors, const Bytes &data) {
    std::vector<Shortfall> shortfalls;
    std::optional<WithoutGil> others_run;
    if (descriptors.size() > few) others_run.emplace();
    for (std::size_t i = 0; i < descriptors.size(); ++i) {
        ssize_t taken = -1;
        if (descriptors[i] >= 0)
            taken = send(descriptors[i], data.begin, static_cast<std::size_t>(data.size), send_flags);
        if (taken != data.size) shortfalls.push_back({i, taken < 0 ? 0 : taken});
    }
    return shortfalls;
}

}  // namespace

Owned send_to_all(PyObject *, Arguments arguments) {
    if (!PyList_Check(arguments[0])) raise(PyExc_TypeError, "send_to_all takes a list of descriptors, and bytes");
    const Bytes data(arguments[1]);
    Owned list = checked(PyList_New(0));
    for (const auto [index, taken] : send_each(descriptors_in(arguments[0]), data))
        check(PyList_Append(list, checked(Py_BuildValue("nn", static_cast<Py_ssize_t>(index), taken))));
    return list;
}

}  // namespace kernel

#endif
