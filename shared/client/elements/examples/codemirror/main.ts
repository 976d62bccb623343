/** Threads in CodeMirror, which has only the lines in its window in the page. */
import {EditorState} from '@codemirror/state';
import {EditorView, lineNumbers} from '@codemirror/view';
import {find} from 'collabdata-elements';

const LINES = ['launch', 'price', 'team', 'risk', 'date'];
const doc = Array.from({length: 600}, (_, i) => `Line ${i + 1}: the ${LINES[i % LINES.length]} of part ${i + 1} is final.`).join('\n');

const view = new EditorView({
  parent: document.querySelector('#editor')!,
  state: EditorState.create({doc, extensions: [lineNumbers(), EditorView.lineWrapping, EditorView.contentAttributes.of({'aria-label': 'Text'})]}),
});

const threads = document.querySelector('collab-threads')!;
const places = new Map<string, number>(); // positions of threads in the text

threads.resolve = (target, annotationId) => {
  const place = find(view.state.doc.toString(), target);
  if (!place) return null;
  places.set(annotationId, place.from);
  if (place.from < view.viewport.from || place.to > view.viewport.to) return 'elsewhere';
  const range = document.createRange();
  const [from, to] = [view.domAtPos(place.from), view.domAtPos(place.to)];
  range.setStart(from.node, from.offset);
  range.setEnd(to.node, to.offset);
  return range;
};

threads.position = (annotationId) => places.get(annotationId) ?? 0;
threads.reveal = (annotationId) => view.dispatch({effects: EditorView.scrollIntoView(threads.position!(annotationId), {y: 'center'})});

const {api = '', token = ''} = Object.fromEntries(new URLSearchParams(location.search));
Object.assign(threads, {api, token, document: 'codemirror'});
