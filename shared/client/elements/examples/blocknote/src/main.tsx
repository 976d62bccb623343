import '@blocknote/core/fonts/inter.css';
import '@blocknote/mantine/style.css';

import {BlockNoteView} from '@blocknote/mantine';
import {BlockNoteViewEditor, FloatingComposerController, ThreadsSidebar, useCreateBlockNote} from '@blocknote/react';
import {connect, type Connection} from 'collabdata-elements';
import {useEffect, useMemo, useState, useSyncExternalStore} from 'react';
import {createRoot} from 'react-dom/client';
import * as Y from 'yjs';

import {Threads} from './threads.js';

// The address of the service, and that of your server that returns a token: see its README.
const {api, token} = Object.fromEntries(new URLSearchParams(location.search)) as {api: string; token: string};
const DOCUMENT = '/document'; // your server's own storage of the text, with its marks

/** The text, saved after each change. A product with several writers has a provider of Yjs instead. */
async function load(): Promise<Y.Doc> {
  const text = new Y.Doc();
  const saved = new Uint8Array(await (await fetch(DOCUMENT)).arrayBuffer());
  if (saved.length) Y.applyUpdate(text, saved);
  // One request at a time: an earlier text must not arrive last.
  const save = () => fetch(DOCUMENT, {method: 'PUT', body: Y.encodeStateAsUpdate(text) as BufferSource});
  let saving: Promise<unknown> = Promise.resolve();
  text.on('update', () => (saving = saving.then(save, save)));
  return text;
}

function Editor({service, text}: {service: Connection; text: Y.Doc}) {
  const threadStore = useMemo(() => new Threads(service), [service]);
  const editor = useCreateBlockNote({
    collaboration: {fragment: text.getXmlFragment('text'), user: {name: service.user.name ?? '', color: 'navy'}, provider: undefined},
    comments: {threadStore},
    resolveUsers: async (ids) => ids.map((userId) => {
      const {name = userId, photoUrl = ''} = service.named({userId});
      return {id: userId, username: name, avatarUrl: photoUrl};
    }),
  }, [threadStore]);
  return (
    <BlockNoteView editor={editor} renderEditor={false} comments={false}>
      <main>
        <BlockNoteViewEditor />
        <FloatingComposerController />
        <ThreadsSidebar filter="all" />
      </main>
    </BlockNoteView>
  );
}

function App() {
  const service = useMemo(() => connect({api, token, documentId: 'blocknote'}), []);
  const ready = useSyncExternalStore(service.subscribe, () => service.loaded);
  const [text, setText] = useState<Y.Doc>();
  useEffect(() => void load().then(setText), []);
  return ready && text ? <Editor service={service} text={text} /> : <p>Loading …</p>;
}

createRoot(document.getElementById('root')!).render(<App />);
