// LogWriter writes the events of a game into its logs, and gives each message its position. Python does the same without
// the kernel (`slpstream/game/log_writer.py`).

#include "kernel.h"

#include <algorithm>
#include <limits>
#include <string>

namespace kernel {
namespace {

// Names of attributes, and types of messages.
struct Names {
    Owned content = interned("content"), number = interned("number"), revision = interned("revision");
    Owned end_offset = interned("end_offset"), through = interned("through"), frames = interned("frames");
    Owned resent_frames = interned("resent_frames"), computer = interned("computer"), feed = interned("feed");
    Owned frame = interned("frame"), finalized = interned("finalized");
};

// The types of what is read and made.
struct Types {
    Owned message, packed, frame, finalized, batch, content_of;
};

// The log of one mode. It has no mode if nobody wants this log, and no messages before the first batch.
struct Log {
    Owned mode, messages;
    long long offset = -1, count = 0;  // of the newest message
};

constexpr long long no_frame = std::numeric_limits<long long>::min();

bool is_of(PyObject *object, PyObject *type) { return reinterpret_cast<PyObject *>(Py_TYPE(object)) == type; }

class LogWriter {
  public:
    explicit LogWriter(PyObject *arguments) {
        PyObject *modes, *message, *packed, *frame, *finalized, *batch, *content_of;
        parse(arguments, "O!(OO!OOOO)", &PyTuple_Type, &modes, &message, &PyType_Type, &packed, &frame, &finalized,
              &batch, &content_of);
        types_ = {shared(message),   shared(packed), shared(frame),
                  shared(finalized), shared(batch),  shared(content_of)};
        for (Py_ssize_t i = 0; i < PyTuple_Size(modes); ++i) {
            PyObject *mode = PyTuple_GetItem(modes, i);
            const auto is_mode = [mode](const char *text) {
                return PyUnicode_Check(mode) && PyUnicode_CompareWithASCIIString(mode, text) == 0;
            };
            Log *log = is_mode("live") ? &live_ : is_mode("finalized") ? &finalized_ : nullptr;
            if (log == nullptr || log->mode) raise(PyExc_ValueError, "the modes are live and finalized");
            log->mode = shared(mode);
        }
    }

    static Owned copy(PyObject *self, Arguments) {
        Owned twin = new_instance<LogWriter>(Py_TYPE(self), made_of<LogWriter>(self));
        LogWriter &made = made_of<LogWriter>(twin);
        made.live_.messages = made.finalized_.messages = Owned();
        return twin;
    }

    static PyObject *last_frame(PyObject *self, void *) {
        const long long number = made_of<LogWriter>(self).last_frame_;
        return number == no_frame ? Py_NewRef(Py_None) : PyLong_FromLongLong(number);
    }

    Owned begin_game(Arguments arguments) {
        game_id_ = shared(arguments[0]);
        return shared(Py_None);
    }

    // Writes a message to all logs.
    Owned write(Arguments arguments) {
        const auto offset = number_of(arguments[1]);
        append_content(live_, arguments[0], offset);
        append_content(finalized_, arguments[0], offset);
        return shared(Py_None);
    }

    Owned write_events(Arguments arguments) {
        PyObject *events = arguments[0], *pipeline = arguments[1], *write_other = arguments[2];
        if (!PyList_Check(events)) raise(PyExc_TypeError, "the events are a list");
        const Owned logs = checked(PyDict_New());
        for (Log *log : {&live_, &finalized_}) {
            if (!log->mode) continue;
            log->messages = checked(PyList_New(0));
            check(PyDict_SetItem(logs, log->mode, log->messages));
        }
        Owned batch = call(types_.batch, logs);
        long long frames = 0, resent = 0;
        for (Py_ssize_t i = 0; i < PyList_Size(events); ++i) {
            const Owned event = shared(PyList_GetItem(events, i));
            if (is_of(event, types_.frame)) {
                const long long offset = number_of(attribute(event, names_.end_offset));
                last_frame_ = std::max(last_frame_, number_of(attribute(event, names_.number)));
                resent += number_of(attribute(event, names_.revision)) > 0;
                ++frames;
                append_frame(live_, event, offset);
            } else if (is_of(event, types_.finalized)) {
                write_finalized(event, attribute(pipeline, names_.computer), batch, write_other);
            } else {
                call(write_other, batch, event);
            }
        }
        if (frames > 0) {
            check(PyObject_SetAttr(batch, names_.frames, integer(frames)));
            check(PyObject_SetAttr(batch, names_.resent_frames, integer(resent)));
        }
        return batch;
    }

  private:
    // Appends a message with the next position to a log.
    void append(Log &log, PyObject *kind, PyObject *body, PyObject *frame_number, long long offset) const {
        if (!log.mode) return;
        if (!log.messages) raise(PyExc_RuntimeError, "there is no batch yet");
        const bool is_new = offset > log.offset;
        const long long at = is_new ? offset : log.offset, count = is_new ? 0 : log.count + 1;
        const Owned message =
            call(types_.message, kind, game_id_, log.mode, integer(at), integer(count), body, frame_number);
        check(PyList_Append(log.messages, message));
        log.offset = at;
        log.count = count;
    }

    void append_content(Log &log, PyObject *content, long long offset) const {
        PyObject *kind, *body, *frame_number;
        parse(content, "OOO", &kind, &body, &frame_number);
        append(log, kind, body, frame_number, offset);
    }

    void append_frame(Log &log, PyObject *event, long long offset) const {
        if (!log.mode) return;
        const Owned content = attribute(event, names_.content);
        if (PyType_IsSubtype(Py_TYPE(content), reinterpret_cast<PyTypeObject *>(types_.packed.get())))
            append(log, names_.frame, content, attribute(event, names_.number), offset);
        else
            append_content(log, call(types_.content_of, event), offset);
    }

    // Writes which frames have become final, and then each of them, with what is derived from it.
    void write_finalized(PyObject *event, PyObject *computer, PyObject *batch, PyObject *write_other) {
        const Owned end_offset = attribute(event, names_.end_offset), frames = attribute(event, names_.frames);
        const long long offset = number_of(end_offset), through = number_of(attribute(event, names_.through));
        const std::string body = "\"through\":" + std::to_string(through) + "}";
        const auto body_bytes = static_cast<Py_ssize_t>(body.size());
        append(live_, names_.finalized, checked(PyBytes_FromStringAndSize(body.data(), body_bytes)), Py_None, offset);
        const Py_ssize_t count = PySequence_Size(frames);
        check(count);
        for (Py_ssize_t i = 0; i < count; ++i) {
            const Owned frame = checked(PySequence_GetItem(frames, i));
            append_frame(finalized_, frame, offset);
            if (computer == Py_None) continue;
            const Owned derived =
                checked(PyObject_CallMethodObjArgs(computer, names_.feed.get(), frame.get(), end_offset.get(), nullptr));
            if (!PyList_Check(derived)) raise(PyExc_TypeError, "what is derived from a frame is a list");
            for (Py_ssize_t j = 0; j < PyList_Size(derived); ++j)
                call(write_other, batch, shared(PyList_GetItem(derived, j)));
        }
    }

    Names names_;
    Types types_;
    Owned game_id_ = shared(Py_None);
    long long last_frame_ = no_frame;  // the highest frame number
    Log live_, finalized_;
};

PyGetSetDef attributes[] = {{"last_frame", LogWriter::last_frame, nullptr, nullptr, nullptr}, {}};

PyMethodDef methods[] = {
    method<&LogWriter::begin_game, 1>("begin_game"),
    method<&LogWriter::copy, 0>("copy"),
    method<&LogWriter::write, 2>("write"),
    method<&LogWriter::write_events, 3>("write_events"),
    {},
};

}  // namespace

void add_log_writer(PyObject *module) {
    add_type<LogWriter>(module, "slpstream.formats.kernel._kernel.LogWriter", methods, attributes);
}

}  // namespace kernel
