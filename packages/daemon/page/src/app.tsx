import type { ComponentChildren } from 'preact';
import { useEffect, useRef } from 'preact/hooks';
import { AccessContext, TokenForm, useAccess, useStoredAccess } from './access.js';
import { LeasePage } from './lease.js';
import { LeasesPage } from './leases.js';
import { HostList, NodeList, RequestList } from './lists.js';
import { useNow, useOverview, useRoute, type Live } from './live.js';
import { NodePage, RequestPage } from './records.js';
import { OverviewPage } from './overview.js';
import { State } from './parts.js';
import { clock } from './text.js';
import type { Overview } from './types.js';

/** The whole page. */
export function App() {
  const live = useOverview();
  const route = useRoute();
  const stored = useStoredAccess();
  const main = useRef<HTMLElement>(null);
  const isFirst = useRef(true);
  const [path = ''] = route.split('?');
  useEffect(() => {
    if (!isFirst.current) main.current?.focus();
    isFirst.current = false;
  }, [path]);
  return (
    <AccessContext.Provider value={stored.access}>
      <a class="skip" href="#content" onClick={(event) => (event.preventDefault(), main.current?.focus())}>
        Skip to the content
      </a>
      <Header live={live} path={path}>
        {live.overview && <TokenForm {...stored} />}
      </Header>
      <main id="content" tabIndex={-1} ref={main}>
        <Content route={route} overview={live.overview} />
      </main>
    </AccessContext.Provider>
  );
}

function Content({ route, overview }: { route: string; overview: Overview | undefined }) {
  const now = useNow();
  const [, kind = '', rest = '', query = ''] = /^\/(\w+)(?:\/([^?]*))?(?:\?(.*))?$/.exec(route) ?? [];
  const id = decodeURIComponent(rest);
  const state = new URLSearchParams(query).get('state') ?? '';
  const shown = overview?.requests?.shown ?? [];
  if (kind === 'requests' && id !== '') return <RequestPage {...{ id, now }} />;
  if (kind === 'requests') return <RequestList {...{ state, now, shown }} />;
  if (kind === 'nodes') return id === '' ? <NodeList {...{ state, now }} /> : <NodePage {...{ id, now }} />;
  if (kind === 'leases') return <Leases {...{ id, now, overview }} />;
  if (kind === 'hosts') return <HostList {...{ state, now }} />;
  if (!overview) return <p>Waiting for the first answer …</p>;
  return <OverviewPage overview={overview} now={now} />;
}

function Leases({ id, now, overview }: { id: string; now: number; overview: Overview | undefined }) {
  const { rights } = useAccess();
  if (!rights) return <p>Leases need a token: enter one under “Use a token” at the top of the page.</p>;
  if (!overview) return <p>Waiting for the first answer …</p>;
  return id === '' ? <LeasesPage {...{ rights, now, overview }} /> : <LeasePage key={id} {...{ id, now, overview }} />;
}

/** What the header leads to; builders have no nodes. */
function linksOf(overview: Overview, mayLease: boolean): readonly (readonly [path: string, name: string])[] {
  if (!overview.nodes) return [];
  const lists = [
    ['/', 'Overview'],
    ['/requests', 'Requests'],
    ['/nodes', 'Nodes'],
    ...((overview.hosts?.total ?? 0) > 0 ? [['/hosts', 'Hosts'] as const] : []),
    ...(mayLease ? [['/leases', 'Leases'] as const] : []),
  ] as const;
  return lists;
}

function Header({ live, path, children }: { live: Live; path: string; children: ComponentChildren }) {
  const { overview, lostSince } = live;
  const { rights } = useAccess();
  const links = overview ? linksOf(overview, rights !== undefined) : [];
  const isCurrent = (link: string) => (path === '' ? '/' : path).split('/')[1] === link.split('/')[1];
  return (
    <header>
      <h1>
        <a href="#/">Nodepool</a>
      </h1>
      {links.length > 0 && (
        <nav aria-label="Pages of this service">
          {links.map(([link, name]) => (
            <a href={`#${link}`} aria-current={isCurrent(link) ? 'page' : undefined}>
              {name}
            </a>
          ))}
        </nav>
      )}
      <p role="status" class={lostSince ? 'lost' : 'live'}>
        {lostSince
          ? `Not connected since ${clock(lostSince)}: the content is out of date. Reconnecting.`
          : overview
            ? 'Live'
            : 'Connecting'}
      </p>
      {overview && (
        <p class="service">
          <State name={overview.status} /> {overview.service} {overview.version} on {overview.hostname}
          {overview.not_ready.length > 0 && ` (${overview.not_ready.join(', ')})`}
        </p>
      )}
      {children}
    </header>
  );
}
