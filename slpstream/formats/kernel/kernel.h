// Declarations shared by the source files of the kernel.

#ifndef SLPSTREAM_KERNEL_H
#define SLPSTREAM_KERNEL_H

#define Py_LIMITED_API 0x030B0000
#include <Python.h>

// Arguments are not parsed with "y#" and its like: made with the headers of Python 3.13, such a kernel fails on 3.11.

#include <array>
#include <cstddef>
#include <cstdint>

namespace kernel {

// The types of values, by their letters in `struct`, and three that are not in the buffer.
enum class Kind : unsigned char {
    u8 = 'B', i8 = 'b', u16 = 'H', i16 = 'h', u32 = 'I', i32 = 'i', f32 = 'f', boolean = '?',
    number = 'n',   // the integer that the caller gives
    array = '*',    // all events of a kind that a frame can have any number of
    nothing = '.',  // no value: the end of a template
};

constexpr int commands = 256;

// What an event means for its sending, which is one transmission of a frame. All but the first two have a frame number.
enum class Rule : unsigned char {
    ignored = ' ',  // no frame number; a sending does not begin with it
    plain = '.',    // no frame number
    first = 's',    // begins a sending
    last = 'e',     // ends its sending
    before = 'k',   // of a character: begins a sending if the character has been in this one
    after = 'l',    // of a character: updates it, and replaces the one before it
    // '0' to '9': any number in a sending; those with the same digit are counted together, and have a limit
};

constexpr unsigned char first_counter = '0';
constexpr int counters = 10;

inline int counter_of(Rule rule) { return static_cast<unsigned char>(rule) - first_counter; }
inline bool is_counted(Rule rule) { return counter_of(rule) >= 0 && counter_of(rule) < counters; }
inline bool has_number(Rule rule) { return rule != Rule::ignored && rule != Rule::plain; }
inline bool has_character(Rule rule) { return rule == Rule::before || rule == Rule::after; }

// How wide the events of each command are, what they mean, and where frame number and character are in them.
struct Events {
    std::array<std::int32_t, commands> widths{};  // 0 if the command is not declared
    std::array<Rule, commands> rules{};
    std::int32_t number_offset = 0, player_offset = 0, follower_offset = 0;
    // The key of the character of an event: its player index times two, plus one for a follower.
    int key_of(const unsigned char *event) const {
        return event[player_offset] << 1 | static_cast<int>(event[follower_offset] > 0);
    }
};

// Reads a list of widths, the rules and the three offsets. Sets an exception and returns false if they are wrong.
bool read_events(PyObject *widths, PyObject *rules, PyObject *places, Events &made);

// Big-endian integers, written so that compilers make one instruction of them.
inline std::uint16_t u16_at(const unsigned char *at) { return static_cast<std::uint16_t>(at[0] << 8 | at[1]); }
inline std::uint32_t u32_at(const unsigned char *at) {
    return std::uint32_t{at[0]} << 24 | std::uint32_t{at[1]} << 16 | std::uint32_t{at[2]} << 8 | at[3];
}

inline std::uint64_t u64_at(const unsigned char *at) { return std::uint64_t{u32_at(at)} << 32 | u32_at(at + 4); }

// The contents of a bytes object.
struct Bytes {
    explicit Bytes(PyObject *object) : begin(PyBytes_AsString(object)), size(PyBytes_Size(object)) {}
    const char *begin;
    Py_ssize_t size;
};

// The width of a value in bytes; -1 for an unknown letter.
inline int width_of(Kind kind) {
    switch (kind) {
        case Kind::u8: case Kind::i8: case Kind::boolean: return 1;
        case Kind::u16: case Kind::i16: return 2;
        case Kind::u32: case Kind::i32: case Kind::f32: return 4;
        case Kind::number: case Kind::array: case Kind::nothing: return 0;
    }
    return -1;
}

// Lets other threads run Python while it exists, also when an exception ends the scope.
class WithoutGil {
  public:
    WithoutGil() : state_(PyEval_SaveThread()) {}
    ~WithoutGil() { PyEval_RestoreThread(state_); }
    WithoutGil(const WithoutGil &) = delete;
    WithoutGil &operator=(const WithoutGil &) = delete;

  private:
    PyThreadState *state_;
};

// A reference that is released at the end of its scope.
class Owned {
  public:
    explicit Owned(PyObject *object) : object_(object) {}
    ~Owned() { Py_XDECREF(object_); }
    Owned(const Owned &) = delete;
    Owned &operator=(const Owned &) = delete;
    PyObject *get() const { return object_; }
    explicit operator bool() const { return object_ != nullptr; }

  private:
    PyObject *object_;
};

// A new instance of an extension type, all zeros after the head.
template <typename Object>
Object *allocated(PyTypeObject *type) {
    auto allocate = reinterpret_cast<allocfunc>(PyType_GetSlot(type, Py_tp_alloc));
    return reinterpret_cast<Object *>(allocate(type, 0));
}

// The destructor of an extension type whose instances own what `made` points to.
template <typename Object>
void destroyed(PyObject *object) {
    PyTypeObject *type = Py_TYPE(object);
    delete reinterpret_cast<Object *>(object)->made;
    reinterpret_cast<freefunc>(PyType_GetSlot(type, Py_tp_free))(object);
    Py_DECREF(type);
}

template <typename Function>
PyCFunction as_method(Function *function) {
    return reinterpret_cast<PyCFunction>(reinterpret_cast<void (*)()>(function));
}

// The state of the module.
struct State {
    PyObject *offsets;  // a type that only the kernel makes instances of
    PyObject *template_type;
};

extern PyType_Spec frames_spec, fields_spec;     // frames.cpp
extern PyType_Spec template_spec, encoder_spec;  // messages.cpp
extern PyType_Spec watch_spec;                   // quiet.cpp
extern PyType_Spec walk_spec, offsets_spec;      // walk.cpp
extern PyType_Spec table_spec;                   // table.cpp
extern PyType_Spec log_writer_spec;              // log.cpp
PyObject *read_growth(PyObject *, PyObject *const *arguments, Py_ssize_t count);  // growth.cpp
#ifndef _WIN32
PyObject *send_to_all(PyObject *, PyObject *const *arguments, Py_ssize_t count);  // sending.cpp
#endif

}  // namespace kernel

#endif
