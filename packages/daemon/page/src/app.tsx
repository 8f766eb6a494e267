import type { ComponentChildren } from 'preact';
import { useEffect, useRef } from 'preact/hooks';
import { useNow, useOverview, useRoute, type Live } from './live.js';
import { NodeList, NodePage, RequestPage } from './records.js';
import { OverviewPage } from './overview.js';
import { clock } from './text.js';
import { Access, Token, useStoredToken } from './write.js';

/** The whole page. */
export function App() {
  const live = useOverview();
  const route = useRoute();
  const now = useNow();
  const [token, store] = useStoredToken();
  const main = useRef<HTMLElement>(null);
  const [, kind = '', id = ''] = /^\/(\w+)(?:\/(.*))?$/.exec(route) ?? [];
  const isFirst = useRef(true);
  useEffect(() => {
    if (!isFirst.current) main.current?.focus();
    isFirst.current = false;
  }, [route]);
  return (
    <Token.Provider value={token}>
      <a class="skip" href="#content" onClick={(event) => (event.preventDefault(), main.current?.focus())}>
        Skip to the content
      </a>
      <Header live={live}>{live.overview && <Access token={token} store={store} />}</Header>
      <main id="content" tabIndex={-1} ref={main}>
        {kind === 'requests' && id !== '' ? (
          <RequestPage id={decodeURIComponent(id)} now={now} />
        ) : kind === 'nodes' && id !== '' ? (
          <NodePage id={decodeURIComponent(id)} now={now} />
        ) : kind === 'state' ? (
          <NodeList state={decodeURIComponent(id)} now={now} />
        ) : live.overview ? (
          <OverviewPage overview={live.overview} now={now} />
        ) : (
          <p>Waiting for the first answer …</p>
        )}
      </main>
    </Token.Provider>
  );
}

function Header({ live: { overview, lostSince }, children }: { live: Live; children: ComponentChildren }) {
  return (
    <header>
      <h1>
        <a href="#/">Nodepool</a>
      </h1>
      {overview && (
        <p>
          {overview.service} {overview.version} on {overview.hostname}:{' '}
          <strong class={`status ${overview.status}`}>{overview.status}</strong>
          {overview.not_ready.length > 0 && ` (${overview.not_ready.join(', ')})`}
        </p>
      )}
      <p role="status" class={lostSince ? 'lost' : 'live'}>
        {lostSince
          ? `Not connected since ${clock(lostSince)}; what you see is from before. Trying again.`
          : overview
            ? 'Live'
            : 'Connecting'}
      </p>
      {children}
    </header>
  );
}
