import assert from "node:assert/strict";
import { afterEach, beforeEach, test } from "node:test";

import { createPlayer } from "../../web/quality/clip_player.js";

/** Pictures that are there once a test says so; `made` are their addresses in order. */
let made, waiting, isReady;

beforeEach(() => {
  [made, waiting, isReady] = [[], [], true];
  globalThis.Image = class {
    set src(url) {
      made.push(url);
    }
    decode() {
      return isReady ? Promise.resolve() : new Promise((done) => { waiting.push(done); });
    }
  };
});

afterEach(() => { delete globalThis.Image; });

const pause = (milliseconds) => new Promise((done) => { setTimeout(done, milliseconds); });

function playing(isShown = () => true) {
  const shown = [];
  const player = createPlayer({
    urlsOf: (frame) => [`full ${frame}`, `cached ${frame}`],
    show: (frame) => shown.push(frame),
    changed: () => {},
    isShown,
  });
  return { player, shown };
}

test("frames follow one another, again and again, from any of them on", async () => {
  const { player, shown } = playing();
  player.play(2, 4, 1000);
  await pause(150);
  player.stop();
  assert.ok(shown.length > 8);
  shown.forEach((frame, n) => assert.equal(frame, (2 + n) % 4));
  const count = shown.length;
  await pause(30);
  assert.equal(shown.length, count);
  assert.equal(player.isPlaying(), false);
});

test("no frame is shown before all of its pictures are there", async () => {
  isReady = false;
  const { player, shown } = playing();
  player.play(0, 81, 1000);
  await pause(20);
  waiting[0](); // of frame 0 one of two
  await pause(20);
  assert.deepEqual(shown, []);
  waiting[1]();
  await pause(20);
  assert.deepEqual(shown, [0]);
  player.stop();
});

test("six frames are fetched ahead, however long the clip is", async () => {
  isReady = false;
  const { player } = playing();
  player.play(0, 81, 1000);
  await pause(20);
  assert.equal(made.length, 2 * 6);
  player.stop();
});

test("a panel that is gone stops it", async () => {
  const { player, shown } = playing(() => shown.length < 3);
  player.play(0, 8, 1000);
  await pause(80);
  assert.equal(shown.length, 3);
  assert.equal(player.isPlaying(), false);
});
