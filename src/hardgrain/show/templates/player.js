// The film of a report: grains, force lines and walls of each frame on a canvas. No libraries.
(() => {
  "use strict";
  const film = JSON.parse(document.getElementById("film-data").textContent);
  const bytes = Uint8Array.from(atob(film.data), (c) => c.charCodeAt(0)).buffer;
  const get = (id) => document.getElementById(id);
  const canvas = get("film"), slider = get("film-frame"), play = get("film-play");
  const colour = get("film-colour"), lines = get("film-lines"), clock = get("film-time");
  const [width, height] = [film.high[0] - film.low[0], film.high[1] - film.low[1]];
  let at = 0;
  for (const frame of film.frames) {  // where its arrays begin, see player.py
    frame.at = at;
    at += (9 + (film.turning || 0)) * frame.n + 9 * frame.m;
    if (film.outlines) at += 2 * frame.n + 4 * frame.k;
  }

  function arrays(frame) {
    const { n, m, k: points } = frame;
    let k = frame.at;
    const take = (Kind, count) => {
      const size = count * Kind.BYTES_PER_ELEMENT;
      const part = new Kind(bytes.slice(k, k + size));
      k += size;
      return part;
    };
    return {
      place: take(Uint16Array, 2 * n), number: take(Uint16Array, n),
      ends: take(Uint16Array, 4 * m), third: take(Uint8Array, n),
      speed: take(Uint8Array, n), pressure: take(Uint8Array, n), force: take(Uint8Array, m),
      turn: film.shapes && (film.flat ? take(Uint16Array, n) : take(Int8Array, 4 * n)),
      count: film.outlines && take(Uint16Array, n),
      outline: film.outlines && take(Uint16Array, 2 * points),
    };
  }

  const map = (name, share) => film.maps[name][Math.min(63, share >> 2)];

  function fade(hex, depth) {  // towards the paper with depth
    const ground = dark.matches ? 22 : 255, part = 0.6 * depth / 255;
    const mix = (i) => Math.round(parseInt(hex.slice(i, i + 2), 16) * (1 - part) + ground * part);
    return `rgb(${mix(1)},${mix(3)},${mix(5)})`;
  }

  // A convex part as it is seen: the hull of its corners, drawn with a round pen as wide as its
  // rounding. Corners are counted two or three numbers each, after the radius.
  function hull(points) {
    points.sort((p, q) => p[0] - q[0] || p[1] - q[1]);
    const right = (o, a, b) => (a[0] - o[0]) * (b[1] - o[1]) - (a[1] - o[1]) * (b[0] - o[0]) <= 0;
    const half = (list) => {
      const found = [];
      for (const p of list) {
        while (found.length > 1 && right(found.at(-2), found.at(-1), p)) found.pop();
        found.push(p);
      }
      return found.slice(0, -1);
    };
    return points.length < 3 ? points : half(points).concat(half(points.reverse()));
  }

  function turned(a, i) {  // rows of the matrix that takes a corner into the picture
    if (film.flat) {
      const angle = a.turn[i] / 65536 * 2 * Math.PI, c = Math.cos(angle), s = Math.sin(angle);
      return [[c, -s], [s, c]];
    }
    const q = a.turn.slice(4 * i, 4 * i + 4), long = Math.hypot(...q);
    const [qx, qy, qz, qw] = Array.from(q, (v) => v / long);
    return [
      [1 - 2 * (qy * qy + qz * qz), 2 * (qx * qy - qz * qw), 2 * (qx * qz + qy * qw)],
      [2 * (qx * qz - qy * qw), 2 * (qy * qz + qx * qw), 1 - 2 * (qx * qx + qy * qy)],
      [2 * (qx * qy + qz * qw), 1 - 2 * (qx * qx + qz * qz), 2 * (qy * qz - qx * qw)],  // depth
    ];
  }

  function solid(g, a, i, cx, cy, scale, rim) {  // fillStyle and strokeStyle are face and rim
    const number = a.number[i], unit = film.size[number] * scale, rows = turned(a, i);
    const dim = film.flat ? 2 : 3, face = g.fillStyle, ink = g.strokeStyle;
    const parts = film.shapes[film.shape[number]].map(([radius, ...numbers]) => {
      const corners = [];
      let depth = 0;
      for (let k = 0; k < numbers.length; k += dim) {
        const along = rows.map((row) => row.reduce((sum, v, j) => sum + v * numbers[k + j], 0));
        corners.push([cx + unit * along[0], cy - unit * along[1]]);
        depth += (along[2] || 0) / numbers.length;
      }
      return { radius: radius * unit, corners: hull(corners), depth };
    });
    const paint = ({ radius, corners }, colour, more) => {
      g.beginPath();
      for (const [px, py] of corners) g.lineTo(px, py);
      if (corners.length === 1) g.lineTo(corners[0][0] + 1e-3, corners[0][1]);
      g.closePath();
      g.fillStyle = g.strokeStyle = colour;
      const pen = 2 * (radius + more);
      g.lineWidth = Math.max(pen, 1e-3);
      if (pen > 0) g.stroke();
      g.fill();
    };
    g.lineJoin = "round";
    if (film.flat) {  // all rims first, so that none is seen where two parts overlap
      for (const part of parts) paint(part, ink, rim / 2);
      for (const part of parts) paint(part, face, -rim / 2);
    } else {
      parts.sort((p, q) => q.depth - p.depth);
      for (const part of parts) {
        paint(part, ink, rim / 2);
        paint(part, face, -rim / 2);
      }
    }
  }

  const dark = matchMedia("(prefers-color-scheme: dark)");

  function draw() {
    const frame = film.frames[+slider.value], a = arrays(frame);
    const scale = canvas.width / width, g = canvas.getContext("2d");
    const x = (u) => (u / 65535 * 3 - 1) * canvas.width;
    const y = (u) => (2 - u / 65535 * 3) * canvas.height;
    const px = (v) => (v - film.low[0]) * scale, py = (v) => (film.high[1] - v) * scale;
    const by = colour.value;
    g.clearRect(0, 0, canvas.width, canvas.height);
    g.lineCap = "round";
    const rim = Math.max(0.5, 0.04 * film.radius[0] * scale);
    g.lineWidth = rim;
    for (let i = 0, point = 0; i < frame.n; i++) {
      const r = film.radius[a.number[i]] * scale, cx = x(a.place[2 * i]), cy = y(a.place[2 * i + 1]);
      const face = by === "plain" ? film.grain : map("grains", a[by][i]);
      g.fillStyle = film.flat ? face : fade(face, a.third[i]);
      g.strokeStyle = film.flat ? film.rim : fade(film.rim, a.third[i]);
      if (film.shapes) {
        solid(g, a, i, cx, cy, scale, rim);
        continue;
      }
      g.beginPath();
      if (film.outlines && a.count[i]) {  // it deforms
        for (const end = point + a.count[i]; point < end; point++)
          g.lineTo(x(a.outline[2 * point]), y(a.outline[2 * point + 1]));
        g.closePath();
        g.fill();
        g.stroke();
        continue;
      }
      g.arc(cx, cy, r, 0, 2 * Math.PI);
      g.fill();
      if (film.flat) {  // a mark that shows how it turns
        const turn = a.third[i] / 255 * 2 * Math.PI;
        g.moveTo(cx, cy);
        g.lineTo(cx + r * Math.cos(turn), cy - r * Math.sin(turn));
      }
      g.stroke();
    }
    if (lines.checked) {
      for (let k = 0; k < frame.m; k++) {
        g.lineWidth = Math.max(0.3, film.width * scale * a.force[k] / 255);
        g.strokeStyle = by === "plain" ? map("lines", a.force[k]) : "#22262b";
        g.beginPath();
        g.moveTo(x(a.ends[4 * k]), y(a.ends[4 * k + 1]));
        g.lineTo(x(a.ends[4 * k + 2]), y(a.ends[4 * k + 3]));
        g.stroke();
      }
    }
    const wall = getComputedStyle(canvas).getPropertyValue("--wall");
    g.fillStyle = g.strokeStyle = wall;
    for (const w of frame.walls) {
      g.beginPath();
      if (w.length === 3) {
        const r = Math.abs(w[2]) * scale, ring = film.band * scale, cx = px(w[0]), cy = py(w[1]);
        g.arc(cx, cy, w[2] < 0 ? r + ring / 2 : r, 0, 2 * Math.PI);
        g.lineWidth = ring;
        if (w[2] < 0) g.stroke(); else g.fill();
      } else {
        for (let k = 0; k < w.length; k += 2) g.lineTo(px(w[k]), py(w[k + 1]));
        g.lineWidth = 0.15 * film.band * scale + 1.5;
        if (w.length === 4) g.stroke(); else g.fill();
      }
    }
    clock.textContent = `time ${frame.t}`;
    slider.setAttribute("aria-valuetext", clock.textContent);
    scales(by);
  }

  function scales(by) {  // what colours and widths mean
    const show = (v) => Number(v.toPrecision(3));
    if (by === "plain" && !film.top.force) get("film-scale").textContent = "no contact bears a force";
    else get("film-scale").textContent = by === "plain"
      ? `line width and colour: normal force, strongest ${show(film.top.force)}`
      : `colour: ${by}, from 0 to ${show(film.top[by])} (dark to yellow)`;
  }

  function fit() {
    const ratio = Math.min(2, window.devicePixelRatio || 1);
    const wide = Math.min(canvas.parentElement.clientWidth, 640 * Math.max(0.4, width / height));
    canvas.style.width = `${wide}px`;
    canvas.width = Math.round(wide * ratio);
    canvas.height = Math.round(wide * ratio * height / width);
    draw();
  }

  let playing = 0, last = 0;
  function tick(now) {
    if (!playing) return;
    if (now - last > 40) {
      last = now;
      slider.value = (+slider.value + 1) % film.frames.length;
      draw();
    }
    playing = requestAnimationFrame(tick);
  }
  play.addEventListener("click", () => {
    playing = playing ? (cancelAnimationFrame(playing), 0) : requestAnimationFrame(tick);
    play.textContent = playing ? "Pause" : "Play";
  });
  for (const control of [slider, colour, lines]) control.addEventListener("input", draw);
  dark.addEventListener("change", draw);
  window.addEventListener("resize", fit);
  slider.max = film.frames.length - 1;
  slider.value = slider.max;
  fit();
})();
