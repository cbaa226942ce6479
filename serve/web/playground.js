// The playground without a page for each change: it asks for the part of the page
// that changes, and lets what goes wrong be dragged.
"use strict";
(() => {
  const form = document.getElementById("choice");
  const result = document.getElementById("result");
  const strip = document.getElementById("strip");
  const field = (name) => form.elements.namedItem(name);
  const faults = [
    { name: "pause", words: "w1 stopped" },
    { name: "cut", words: "w1 cut off" },
    { name: "jump", words: "clock jumps", point: true },
    { name: "fail", words: "failover", point: true },
  ];
  let end = 1000; // of the last run, in milliseconds
  let span = 1000; // that the strip shows
  let asking = false;
  let again = false;

  // One question at a time: what was changed meanwhile is asked when it is answered.
  async function ask() {
    if (asking) {
      again = true;
      return;
    }
    if (!form.checkValidity()) {
      return;
    }
    asking = true;
    result.classList.add("stale");
    const query = new URLSearchParams(new FormData(form)).toString();
    try {
      const answer = await fetch("/playground/result?" + query);
      result.innerHTML = await answer.text();
      history.replaceState(null, "", "/playground?" + query);
    } catch {
      result.textContent = "The server does not answer any more.";
    }
    result.classList.remove("stale");
    asking = false;
    draw();
    if (again) {
      again = false;
      ask();
    }
  }

  function measure() {
    const head = result.querySelector("[data-end]");
    end = head ? Number(head.dataset.end) : end;
    span = end;
    for (const f of faults) {
      if (field(f.name).checked) {
        span = Math.max(span, Number(field(f.name + "_at").value) + (f.point ? 0 : Number(field(f.name + "_for").value)));
      }
    }
    span = Math.max(200, span * 1.1);
  }

  function draw() {
    if (!held) {
      measure();
    }
    const place = (element, ms) => { element.style.left = (100 * ms) / span + "%"; };
    for (const f of faults) {
      place(f.bar, Number(field(f.name + "_at").value));
      if (!f.point) {
        f.bar.style.width = (100 * Number(field(f.name + "_for").value)) / span + "%";
      }
      f.bar.classList.toggle("off", !field(f.name).checked);
    }
    place(mark, end);
    mark.textContent = "end of the run, " + end + " ms";
  }

  let held = null; // what is dragged: the bar, its edge or not, and where it began

  function set(name, value) {
    const input = field(name);
    input.value = Math.min(Number(input.max), Math.max(Number(input.min), Math.round(value)));
  }

  function down(f, event) {
    const edge = event.target.tagName === "I";
    const name = f.name + (edge ? "_for" : "_at");
    held = { name, x: event.clientX, was: Number(field(name).value) };
    f.bar.setPointerCapture(event.pointerId);
    event.preventDefault();
  }

  function move(f, event) {
    if (!held) {
      return;
    }
    set(held.name, held.was + ((event.clientX - held.x) * span) / strip.clientWidth);
    field(f.name).checked = true;
    draw();
    ask();
  }

  function up() {
    held = null;
    draw();
  }

  const mark = document.createElement("div");
  mark.className = "mark";
  strip.append(mark);
  faults.forEach((f, i) => {
    f.bar = document.createElement("div");
    f.bar.className = "hit";
    f.bar.id = "bar-" + f.name;
    f.bar.style.top = 6 + 28 * i + "px";
    f.bar.textContent = f.words;
    if (!f.point) {
      f.bar.append(document.createElement("i"));
    }
    f.bar.addEventListener("pointerdown", (event) => down(f, event));
    f.bar.addEventListener("pointermove", (event) => move(f, event));
    f.bar.addEventListener("pointerup", up);
    f.bar.addEventListener("pointercancel", up);
    strip.append(f.bar);
  });
  strip.hidden = false;
  form.addEventListener("input", ask);
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    ask();
  });
  draw();
})();
