import { explanationToJson, explanationToText, toPythonJson } from '@nodepool/core/service';
import type { ExplainSubject, Launcher } from '@nodepool/core/launcher';
import type { LiveAnswer, RouteQuery, RouteTable, ShownConditions } from '@nodepool/daemon';
import type { Clock } from '@nodepool/zk-protocol';

const USAGE =
  'Ask for one request, /explain?request=200-0000000042, or for labels, /explain?label=small&label=big, at most 200';

/** More than any real request has. */
const MAX_LABELS = 200;
const MAX_LABEL_LENGTH = 255;

type Representation = RouteQuery['representation'];

function answer(representation: Representation, status: number, text: string, json: string): LiveAnswer {
  return representation === 'json'
    ? { status, contentType: 'application/json', body: json }
    : { status, contentType: 'text/plain; charset=UTF-8', body: `${text}\n` };
}

function refuse(representation: Representation, status: number, code: string, text: string): LiveAnswer {
  return answer(representation, status, text, toPythonJson({ error: code, text }));
}

function subjectOf(parameters: URLSearchParams): ExplainSubject | undefined {
  const requests = parameters.getAll('request').filter(Boolean);
  const labels = parameters.getAll('label').filter(Boolean);
  if (labels.length > MAX_LABELS || labels.some((label) => label.length > MAX_LABEL_LENGTH)) return undefined;
  const [requestId] = requests;
  if (requestId !== undefined) return requests.length === 1 && labels.length === 0 ? { requestId } : undefined;
  return labels.length > 0 ? { labels } : undefined;
}

/** `/explain`: why a request is waiting, or how labels would be served. Read-only. */
export function createExplainRoutes(
  runtime: Pick<Launcher, 'explain' | 'requests'>,
  conditions: Pick<ShownConditions, 'merged'>,
  clock: Clock,
): RouteTable {
  const explain = ({ representation, parameters }: RouteQuery): LiveAnswer => {
    const subject = subjectOf(parameters);
    if (!subject) return refuse(representation, 400, 'bad-query', USAGE);
    if (!runtime.requests.ready) {
      return refuse(representation, 503, 'not-ready', 'The requests are still being read from ZooKeeper; ask again');
    }
    const explanation = runtime.explain(subject);
    if (!explanation) {
      const id = 'requestId' in subject ? subject.requestId : '';
      const text = `There is no request ${JSON.stringify(id)}: it has been deleted, or the id is wrong`;
      return refuse(representation, 404, 'unknown-request', text);
    }
    const { merged } = conditions;
    const text = explanationToText(explanation, merged, clock.now());
    return answer(representation, 200, text, toPythonJson(explanationToJson(explanation, merged)));
  };
  return new Map([['/explain', { kind: 'query', answer: explain }]]);
}
