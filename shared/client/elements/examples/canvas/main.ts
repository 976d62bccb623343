/** Threads as pins on a canvas. Their places, from 0 to 1, are free-form data of the threads. */
import {connect} from 'collabdata-elements';

type Place = {x: number; y: number};
const {api = '', token} = Object.fromEntries(new URLSearchParams(location.search));
const board = document.querySelector<HTMLElement>('#board')!;
const plan = connect({api, token, documentId: 'canvas'});
const pins = new Map<string, HTMLElement>(); // by the key of their thread
const failed = (e: Error) => (document.querySelector('[role=status]')!.textContent = e.message);
const put = (pin: HTMLElement, {x, y}: Place) => Object.assign(pin.style, {left: `${x * 100}%`, top: `${y * 100}%`});
const placeOf = ({clientX, clientY}: MouseEvent): Place => {
  const {left, top, width, height} = board.getBoundingClientRect();
  return {x: (clientX - left) / width, y: (clientY - top) / height};
};
const add = (key: string): HTMLElement => {
  const pin = board.appendChild(document.createElement('button'));
  let place: Place | undefined; // while it is dragged
  pin.onpointerdown = (e) => pin.className && pin.setPointerCapture(e.pointerId);
  pin.onpointermove = (e) => pin.hasPointerCapture(e.pointerId) && put(pin, (place = placeOf(e)));
  pin.onclick = () => {
    const text = place ? '' : prompt('Reply');
    if (place) plan.update(key, {context: place}).catch(failed);
    if (text) plan.reply(key, {text}).catch(failed);
    place = undefined;
  };
  return pins.set(key, pin).get(key)!;
};
plan.subscribe(() => {
  for (const [key, pin] of pins) if (!plan.threads.some((t) => t.key === key)) pins.delete(key) && pin.remove();
  for (const {key, from, context, comments} of plan.threads.filter((t) => t.context)) {
    const pin = pins.get(key) ?? add(key);
    pin.textContent = comments.map((c) => `${plan.named(c.from).name}: ${c.commentText}`).join('\n');
    pin.className = from?.userId === plan.user.userId ? 'own' : '';
    if (!pin.matches(':active')) put(pin, context as Place);
  }
});
board.ondblclick = (e) => {
  const text = e.target instanceof HTMLCanvasElement && prompt('Comment');
  if (text) plan.add({text, threadContext: placeOf(e)}).catch(failed);
};
