// Declarations shared by the source files of the kernel.

#ifndef SLPSTREAM_KERNEL_H
#define SLPSTREAM_KERNEL_H

#define Py_LIMITED_API 0x030B0000
#include <Python.h>

// Arguments are not parsed with "y#" and its like: made with the headers of Python 3.13, such a kernel fails on 3.11.

#include <array>
#include <cstddef>
#include <cstdint>
#include <new>
#include <type_traits>
#include <utility>

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

// Reads a tuple of a list of widths, the rules and the three offsets.
Events read_events(PyObject *described);

// Big-endian integers, written so that compilers make one instruction of them.
inline std::uint16_t u16_at(const unsigned char *at) { return static_cast<std::uint16_t>(at[0] << 8 | at[1]); }
inline std::uint32_t u32_at(const unsigned char *at) {
    return std::uint32_t{at[0]} << 24 | std::uint32_t{at[1]} << 16 | std::uint32_t{at[2]} << 8 | at[3];
}

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

// Thrown after a Python exception was set. `guarded` catches it at the border to Python.
struct Raised {};

template <typename... Parts>
[[noreturn]] void raise(PyObject *type, const char *format, Parts... parts) {
    PyErr_Format(type, format, parts...);
    throw Raised();
}

// Throws if a function of Python has returned less than 0.
inline void check(Py_ssize_t result) {
    if (result < 0) throw Raised();
}

// A counted reference to a Python object, or none. It is made from a new reference.
class Owned {
  public:
    Owned() = default;
    explicit Owned(PyObject *object) : object_(object) {}
    Owned(const Owned &other) : object_(Py_XNewRef(other.object_)) {}
    Owned(Owned &&other) noexcept : object_(std::exchange(other.object_, nullptr)) {}
    Owned &operator=(Owned other) noexcept {
        std::swap(object_, other.object_);
        return *this;
    }
    ~Owned() { Py_XDECREF(object_); }
    PyObject *get() const { return object_; }
    PyObject *release() { return std::exchange(object_, nullptr); }
    operator PyObject *() const { return object_; }

  private:
    PyObject *object_ = nullptr;
};

inline Owned shared(PyObject *borrowed) { return Owned(Py_NewRef(borrowed)); }

// Takes what a function of Python has returned. Throws if that is null.
inline Owned checked(PyObject *object) {
    if (object == nullptr) throw Raised();
    return Owned(object);
}

inline Owned integer(long long value) { return checked(PyLong_FromLongLong(value)); }
inline Owned interned(const char *text) { return checked(PyUnicode_InternFromString(text)); }
inline Owned attribute(PyObject *object, PyObject *name) { return checked(PyObject_GetAttr(object, name)); }

template <typename... Arguments>
Owned call(PyObject *function, const Arguments &...arguments) {
    return checked(PyObject_CallFunctionObjArgs(function, static_cast<PyObject *>(arguments)..., nullptr));
}

// The value of a Python integer. Raises OverflowError if it does not fit.
template <typename Number = long long>
Number number_of(PyObject *object) {
    const long long value = PyLong_AsLongLong(object);
    if (value == -1 && PyErr_Occurred()) throw Raised();
    const auto number = static_cast<Number>(value);
    if (static_cast<long long>(number) != value || (value < 0 && !std::is_signed_v<Number>))
        raise(PyExc_OverflowError, "the number %lld is out of range", value);
    return number;
}

// Parses a tuple as PyArg_ParseTuple does.
template <typename... Out>
void parse(PyObject *tuple, const char *format, Out... out) {
    if (!PyTuple_Check(tuple)) raise(PyExc_TypeError, "not a tuple: %R", tuple);
    if (!PyArg_ParseTuple(tuple, format, out...)) throw Raised();
}

// The contents of a bytes object. Raises TypeError if it is none.
struct Bytes {
    explicit Bytes(PyObject *object) {
        char *text;
        check(PyBytes_AsStringAndSize(object, &text, &size));
        begin = text;
    }
    const unsigned char *data() const { return reinterpret_cast<const unsigned char *>(begin); }
    std::size_t length() const { return static_cast<std::size_t>(size); }
    const char *begin;
    Py_ssize_t size;
};

// The arguments of a call. Those at the end that were left out are None.
struct Arguments {
    PyObject *const *first;
    Py_ssize_t count;
    PyObject *operator[](Py_ssize_t i) const { return i < count ? first[i] : Py_None; }
};

// Calls code that throws. Returns a new reference, or null with a Python exception.
template <typename Act>
PyObject *guarded(Act act) {
    try {
        return act().release();
    } catch (const Raised &) {
        return nullptr;
    } catch (const std::bad_alloc &) {
        return PyErr_NoMemory();
    }
}

template <typename Function>
PyCFunction as_method(Function *function) {
    return reinterpret_cast<PyCFunction>(reinterpret_cast<void (*)()>(function));
}

// An instance of an extension type. It owns an object of a class.
template <typename Class>
struct Instance {
    PyObject_HEAD
    Class *made;
};

template <typename Class>
Class &made_of(PyObject *instance) {
    return *reinterpret_cast<Instance<Class> *>(instance)->made;
}

template <typename Class>
Owned call_function(Owned (Class::*function)(Arguments), PyObject *self, Arguments arguments) {
    return (made_of<Class>(self).*function)(arguments);
}

inline Owned call_function(Owned (*function)(PyObject *, Arguments), PyObject *self, Arguments arguments) {
    return function(self, arguments);
}

// A method of an extension type, which takes from `least` to `most` arguments. It is a member function of the type's
// class, or a function that is also called with the instance. The latter can be a function of the module, too.
template <auto function, Py_ssize_t least, Py_ssize_t most = least>
PyMethodDef method(const char *name) {
    const auto call_by_python = [](PyObject *self, PyObject *const *first, Py_ssize_t count) {
        return guarded([=] {
            if (count < least || count > most) raise(PyExc_TypeError, "wrong number of arguments: %zd", count);
            return call_function(function, self, {first, count});
        });
    };
    return {name, as_method(+call_by_python), METH_FASTCALL, nullptr};
}

// A new instance that owns a new object, which is made from these arguments.
template <typename Class, typename... From>
Owned new_instance(PyTypeObject *type, const From &...from) {
    const auto allocate = reinterpret_cast<allocfunc>(PyType_GetSlot(type, Py_tp_alloc));
    Owned self = checked(allocate(type, 0));  // all zeros after the head
    reinterpret_cast<Instance<Class> *>(self.get())->made = new Class(from...);
    return self;
}

template <typename Class>
void destroyed(PyObject *self) {
    PyTypeObject *type = Py_TYPE(self);
    delete reinterpret_cast<Instance<Class> *>(self)->made;
    reinterpret_cast<freefunc>(PyType_GetSlot(type, Py_tp_free))(self);
    Py_DECREF(type);
}

template <typename Class>
PyObject *constructed(PyTypeObject *type, PyObject *arguments, PyObject *) {
    return guarded([=] { return new_instance<Class>(type, arguments); });
}

inline PyGetSetDef no_attributes[] = {{}};

// Adds a type whose instances are objects of a class. The class is constructed from a tuple of arguments.
template <typename Class>
void add_type(PyObject *module, const char *name, PyMethodDef *methods, PyGetSetDef *attributes = no_attributes) {
    PyType_Slot slots[] = {{Py_tp_new, reinterpret_cast<void *>(constructed<Class>)},
                           {Py_tp_dealloc, reinterpret_cast<void *>(destroyed<Class>)},
                           {Py_tp_methods, methods},
                           {Py_tp_getset, attributes},
                           {0, nullptr}};
    PyType_Spec spec = {name, sizeof(Instance<Class>), 0, Py_TPFLAGS_DEFAULT, slots};
    const Owned type = checked(PyType_FromModuleAndSpec(module, &spec, nullptr));
    check(PyModule_AddType(module, reinterpret_cast<PyTypeObject *>(type.get())));
}

// Whether an object is an instance of the type that this kernel has made for a class.
template <typename Class>
bool is_instance(PyObject *object) {
    return PyType_GetSlot(Py_TYPE(object), Py_tp_dealloc) == reinterpret_cast<void *>(destroyed<Class>);
}

void add_frames(PyObject *module);                   // frames.cpp
void add_messages(PyObject *module);                 // messages.cpp
void add_watch(PyObject *module);                    // quiet.cpp
void add_log_writer(PyObject *module);               // log.cpp
void add_table(PyObject *module);                    // table.cpp
Owned walk(PyObject *module, Arguments);             // walk.cpp
Owned read_growth(PyObject *module, Arguments);      // growth.cpp
#ifndef _WIN32
Owned send_to_all(PyObject *module, Arguments);      // sending.cpp
#endif

}  // namespace kernel

#endif
