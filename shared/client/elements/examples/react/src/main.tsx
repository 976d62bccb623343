import 'collabdata-elements';

import type {Elements} from 'collabdata-elements';
import {StrictMode, useEffect, useRef, useState} from 'react';
import {createRoot} from 'react-dom/client';

declare module 'react' {
  namespace JSX {
    interface IntrinsicElements extends Elements<HTMLAttributes<HTMLElement> & RefAttributes<HTMLElement>> {}
  }
}

// The address of the service, and that of your server that returns a token: see its README.
const {api, token} = Object.fromEntries(new URLSearchParams(location.search)) as {api: string; token: string};

/** The threads of a document, with the id of the open one. */
function Discussion({document}: {document: string}) {
  const threads = useRef<HTMLElement>(null);
  const [open, setOpen] = useState('');
  useEffect(() => {
    const element = threads.current!;
    const opened = (e: Event) => setOpen((e as CustomEvent<{annotationId: string}>).detail.annotationId);
    element.addEventListener('collab-active', opened);
    return () => element.removeEventListener('collab-active', opened);
  }, []);
  return (
    <aside>
      <collab-inbox api={api} token={token} />
      <collab-threads api={api} token={token} document={document} for="text" ref={threads} />
      <p>{open ? `Open: ${open}` : 'No thread is open.'}</p>
    </aside>
  );
}

createRoot(document.getElementById('root')!).render(
  <StrictMode>
    <main id="text">
      <p id="intro">We launch on the first of October.</p>
    </main>
    <Discussion document="launch-plan" />
  </StrictMode>,
);
