/** Plays frames one after the other, each once its pictures are there: all clips stay in step. */

const AHEAD = 6; // frames that are fetched beforehand; no more are kept, however long the clip is

/**
 * @param {object} options
 * @param {(frame: number) => string[]} options.urlsOf the pictures of a frame
 * @param {(frame: number) => void} options.show
 * @param {(isPlaying: boolean) => void} options.changed
 * @param {() => boolean} options.isShown whether anybody can see it
 */
export function createPlayer({ urlsOf, show, changed, isShown }) {
  let run = 0; // counts up with each start and stop: an older loop ends
  let isPlaying = false;
  let ready = new Map(); // promises of frames

  function fetched(frame) {
    if (!ready.has(frame)) {
      const pictures = urlsOf(frame).map((url) => {
        const picture = new Image();
        picture.src = url;
        return picture.decode().then(() => picture, () => picture); // a lost one shows as lost
      });
      ready.set(frame, Promise.all(pictures));
    }
    return ready.get(frame);
  }

  /** Play `count` frames from one on, again and again. */
  async function play(from, count, fps) {
    const own = ++run;
    ready = new Map();
    tell(true);
    let due = performance.now();
    for (let frame = from; own === run; frame = (frame + 1) % count) {
      for (let next = 0; next < Math.min(AHEAD, count); next += 1) fetched((frame + next) % count);
      await fetched(frame);
      await new Promise((done) => { setTimeout(done, due - performance.now()); });
      if (own !== run) return;
      if (!isShown()) return stop();
      show(frame);
      ready.delete(frame);
      due = Math.max(due, performance.now() - 1000 / fps) + 1000 / fps; // late frames are not caught up
    }
  }

  function stop() {
    run += 1;
    ready = new Map();
    tell(false);
  }

  function tell(now) {
    isPlaying = now;
    changed(now);
  }

  return { play, stop, isPlaying: () => isPlaying };
}
