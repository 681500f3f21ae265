// Replaces the clock, the animation frames and the daemon of a scene, so that a test can draw one state after another without
// waiting. `drawing.play(messages)` draws what a page shows after these messages.
(() => {
  let now = 10_000;
  let ids = 0;
  /** @type {Map<number, {at: number, run: () => void, every?: number}>} */
  const timers = new Map();
  let frames = [];
  let asking = 0;
  let socket = null;
  /** The stations that the page asks for, or all. */
  let wanted = ["*"];
  const observers = new Set();
  const realFetch = window.fetch.bind(window);
  const channel = new MessageChannel();

  performance.now = () => now;
  const later = (run, after = 0, every = undefined) => {
    timers.set(++ids, { at: now + after, run, every });
    return ids;
  };
  window.setTimeout = (run, after) => later(run, after);
  window.setInterval = (run, every) => later(run, every, Math.max(1, every));
  window.clearTimeout = window.clearInterval = (id) => timers.delete(id);
  window.requestAnimationFrame = (run) => {
    frames.push({ run, id: ++ids });
    return ids;
  };
  window.cancelAnimationFrame = (id) => {
    frames = frames.filter((each) => each.id !== id);
  };
  window.ResizeObserver = class {
    constructor(changed) {
      this.changed = changed;
      this.sizes = new Map();
      observers.add(this);
    }
    observe(element) {
      this.sizes.set(element, "");
    }
    unobserve(element) {
      this.sizes.delete(element);
    }
    disconnect() {
      this.sizes.clear();
    }
  };
  window.WebSocket = class {
    constructor(address) {
      socket = this;
      wanted = (new URL(address).searchParams.get("station") ?? "*").split(",");
      this.onopen = this.onmessage = this.onclose = null;
      queueMicrotask(() => {
        this.onopen?.();
        drawing.send({ type: "hello", protocol: 1, version: "0", stations: ["station"] });
      });
    }
    send() {}
    close() {}
  };
  window.fetch = async (address, request) => {
    const url = new URL(address.url ?? address, location.href);
    if (!url.pathname.startsWith("/v1/")) {
      return realFetch(address, request);
    }
    asking += 1;
    try {
      const { status, body } = await drawing.answer(url.pathname.slice(1) + url.search);
      return { ok: status === 200, status, headers: new Headers(), json: async () => body };
    } finally {
      asking -= 1;
    }
  };

  /** Lets the page's promises and requests finish. */
  async function answered() {
    do {
      await new Promise((resolve) => {
        channel.port1.onmessage = resolve;
        channel.port2.postMessage(null);
      });
    } while (asking > 0);
  }

  /** Reports boxes whose size has changed, until none does. */
  function resize() {
    for (let tries = 0, changed = true; changed && tries < 5; tries++) {
      changed = false;
      for (const observer of observers) {
        const entries = [];
        for (const [target, before] of observer.sizes) {
          const size = `${target.clientWidth}x${target.clientHeight}`;
          if (size !== before) {
            observer.sizes.set(target, size);
            entries.push({ target, contentRect: target.getBoundingClientRect() });
          }
        }
        if (entries.length > 0) {
          changed = true;
          observer.changed(entries, observer);
        }
      }
    }
  }

  /** Moves the clock. */
  function pass(milliseconds, step = 50) {
    const until = now + milliseconds;
    while (now < until) {
      now = Math.min(until, now + step);
      for (const [id, { at, run, every }] of [...timers]) {
        if (at <= now && timers.has(id)) {
          timers.delete(id);
          if (every !== undefined) {
            timers.set(id, { at: now + every, run, every });
          }
          run();
        }
      }
      const due = frames;
      frames = [];
      due.forEach(({ run }) => run(now));
    }
  }

  const drawing = {
    /** Answers a request to the API. @type {(path: string) => Promise<{status: number, body: any}>} */
    answer: async () => ({ status: 404, body: {} }),
    send(message) {
      if (message.station === undefined || wanted.includes("*") || wanted.includes(message.station)) {
        socket.onmessage({ data: JSON.stringify(message) });
      }
    },
    /** Waits until the page is connected, and has its stylesheets and fonts. */
    async ready() {
      while (socket === null || socket.onmessage === null) {
        pass(100);
        await answered();
      }
      while ([...document.querySelectorAll("link[rel=stylesheet]")].some(({ sheet }) => sheet === null)) {
        await answered();
      }
      await Promise.all([...document.fonts].map((font) => font.load()));
    },
    /**
     * Draws what the page shows after these messages and a pause. At a message `restart` the daemon starts again: the page
     * forgets its game and connects again.
     */
    async play(messages, pauseMs) {
      for (const message of messages) {
        if (message.type === "restart") {
          socket.onclose({ code: 4410, reason: "" });
          while (socket.onmessage === null) {
            pass(100);
            await answered();
          }
        } else {
          drawing.send(message);
        }
      }
      pass(200);
      await answered();
      pass(pauseMs, 1000);
      pass(100);
      await answered();
      pass(100);
      resize();
    },
  };
  window.drawing = drawing;
})();
