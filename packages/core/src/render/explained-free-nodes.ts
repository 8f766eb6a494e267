import { listOf, mapOf, numberOf, textOf, type Json, type JsonObject } from '@nodepool/zk-protocol';
import type { FreeNodesExplanation, RequestExplanation } from '../launcher/plan/explanation.js';

type Explained = Pick<RequestExplanation, 'freeNodes'>;

/** The free nodes that are kept, as keys of an explanation in JSON. */
export function freeNodesToJson({ freeNodes = [] }: Explained): JsonObject {
  const toJson = ({ isFallback, label, nodes, ready, reason, decides }: FreeNodesExplanation) => ({
    ...{ label, nodes, ready, reason, is_fallback: isFallback, decides },
  });
  return { standby: freeNodes.map(toJson) };
}

/** @param json - an explanation, possibly of another release */
export function freeNodesFromJson(json: JsonObject): Explained {
  const freeNodes = listOf(json['standby']).flatMap((entry: Json) => {
    const each = mapOf(entry);
    const [label, nodes, ready] = [textOf(each['label']), numberOf(each['nodes']), numberOf(each['ready'])];
    if (label === undefined || nodes === undefined || ready === undefined) return [];
    const [isFallback, decides] = [each['is_fallback'] === true, each['decides'] === true];
    return [{ label, nodes, ready, reason: textOf(each['reason']) ?? '', isFallback, decides }];
  });
  return freeNodes.length > 0 ? { freeNodes } : {};
}

/** Why so many free nodes are kept, a line for each part of the reason. */
export function freeNodesLines({ label, nodes, ready, reason, decides }: FreeNodesExplanation): string[] {
  const head = `standby nodes of ${JSON.stringify(label)}: ${nodes} to keep, ${ready} standing by`;
  if (!decides) return ['', `${head}; the launcher with the longest registered pool of the label decides`];
  return ['', head, ...reason.split('; ').map((part) => `  ${part}`)];
}
