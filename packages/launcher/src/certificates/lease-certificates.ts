import type { Config, FoundCondition, Logger } from '@nodepool/core';
import type { Leases, LeaseView } from '@nodepool/core/launcher';
import { newCondition, type ConditionTypes } from '@nodepool/core/service';
import { ScanQueue } from '@nodepool/core/ssh';
import {
  CERTIFICATES_KEY,
  certificateMode,
  type CertificateMode,
  type LeaseRecord,
  type NodeId,
  type NodeRecord,
  type PoolComponentRecord,
} from '@nodepool/zk-protocol';
import { keyIdOf, principalOf } from './principals.js';
import { CertificateError, signCertificate } from './sign-certificate.js';

/** Conditions of the CA of leases. */
export const CONDITIONS = {
  LeaseCaUnusable: {
    ...{ kind: 'configuration', severity: 'error' },
    meaning: 'a launcher cannot sign SSH certificates, so that lessees cannot log in with the key that they gave',
    reasons: { NotSigned: 'the message says why: the file of `lease-ca-key`, or `ssh-keygen`, cannot be used' },
    nextStep: 'correct `lease-ca-key`, or its file',
  },
} as const satisfies ConditionTypes;

/** The longest that a certificate is valid; it ends with its lease if that is earlier. */
const VALID_MS = 600_000;
/** How far the clock of a machine may be behind. */
const BEHIND_MS = 300_000;
/** Pause after a failure. */
const PAUSE_MS = 5_000;
/** Signatures at a time. */
const AT_ONCE = 4;

/** A certificate of a node for its lessee. */
export interface NodeCertificate {
  /** One line; `undefined`: it could not be signed. */
  readonly line: string | undefined;
  readonly untilMs: number;
  /** Why it could not be signed, for the lessee. */
  readonly problem: string | undefined;
}

interface Entry {
  readonly principal: string;
  readonly untilMs: number;
  readonly certificate: Promise<NodeCertificate>;
  /** When it could not be signed. */
  failedMs?: number;
}

/** What certificates are made of. */
export interface CertificateSources {
  readonly leases: Pick<Leases, 'get' | 'now' | 'onChange'>;
  /** Registered pools of all launchers. */
  readonly pools: () => Iterable<PoolComponentRecord>;
  readonly config: () => Pick<Config, 'leaseCaKey' | 'providers'>;
  readonly logger: Logger;
  /** `PATH` of programs. */
  readonly path: string | undefined;
}

/**
 * SSH certificates with which lessees log in to their nodes. Any launcher with the CA key signs them, when the owner of an active
 * lease asks: nothing is stored, and nothing is changed on a machine.
 */
export class LeaseCertificates {
  readonly #sources: CertificateSources;
  readonly #byLease = new Map<string, Map<NodeId, Entry>>();
  readonly #queue = new ScanQueue(AT_ONCE);
  readonly #abort = new AbortController();
  readonly #unsubscribe: () => void;
  #failing:
    { readonly file: string; readonly message: string; readonly sinceMs: number; lastSeenMs: number } | undefined;

  constructor(sources: CertificateSources) {
    this.#sources = sources;
    this.#unsubscribe = sources.leases.onChange(({ id, after }) => {
      if (after?.state !== 'active') this.#byLease.delete(id);
    });
  }

  close(): void {
    this.#unsubscribe();
    this.#abort.abort(new Error('the launcher stops'));
  }

  /** Whether this launcher has a CA key. */
  get isOn(): boolean {
    return this.#sources.config().leaseCaKey !== undefined;
  }

  /** Providers of each offered label whose machines do not trust certificates, or may not. */
  providersWithout(): Map<string, string[]> {
    const without = new Map<string, string[]>();
    for (const { providerName, supportedLabels } of this.#sources.pools()) {
      const lacks = this.#modeOf(providerName) === undefined;
      for (const label of supportedLabels) {
        const providers = without.get(label) ?? [];
        without.set(label, providers);
        if (lacks && !providers.includes(providerName)) providers.push(providerName);
      }
    }
    return without;
  }

  /**
   * Certificates for nodes of an active lease, by node. A certificate with half of its time left is given again.
   * @returns nothing for nodes that take none
   */
  async of({ lease, nodes, endMs }: LeaseView): Promise<ReadonlyMap<NodeId, NodeCertificate>> {
    const found = new Map<NodeId, NodeCertificate>();
    if (endMs === undefined || this.#sources.leases.get(lease.id)?.state !== 'active') return found;
    const sign = async (node: NodeRecord) => {
      const certificate = await this.#entryOf(lease, node, endMs)?.certificate;
      if (certificate) found.set(node.id, certificate);
    };
    await Promise.all(nodes.map(sign));
    return found;
  }

  conditions(): FoundCondition[] {
    const failing = this.#failing;
    if (failing === undefined || failing.file !== this.#sources.config().leaseCaKey) return [];
    const { file, message, sinceMs, lastSeenMs } = failing;
    const nextStep = `correct "lease-ca-key", or the file ${file}`;
    return [
      newCondition(CONDITIONS, 'LeaseCaUnusable', {
        ...{ name: file, reason: 'NotSigned', message, sinceMs, lastSeenMs, nextStep },
      }),
    ];
  }

  /** `undefined`: the node takes none, or this launcher has no CA key. */
  #entryOf(lease: LeaseRecord, node: NodeRecord, endMs: number): Entry | undefined {
    const { leases, config } = this.#sources;
    const { leaseCaKey } = config();
    const mode = node.provider === null ? undefined : this.#modeOf(node.provider);
    const principal = mode && principalOf(node, mode);
    if (leaseCaKey === undefined || lease.publicKey === null || principal === undefined) return undefined;
    const nowMs = leases.now();
    const untilMs = Math.min(nowMs + VALID_MS, endMs);
    const byNode = this.#byLease.get(lease.id) ?? new Map<NodeId, Entry>();
    const known = byNode.get(node.id);
    if (known?.principal === principal && isGood(known, nowMs, untilMs)) return known;
    const label = lease.labels[lease.nodeIds.indexOf(node.id)] ?? '';
    const { publicKey } = lease;
    const wish = { caKeyFile: leaseCaKey, publicKey, principal, keyId: keyIdOf(lease, label), untilMs };
    const entry: Entry = {
      ...{ principal, untilMs },
      certificate: this.#sign({ ...wish, fromMs: nowMs - BEHIND_MS }).catch((error: unknown) => {
        entry.failedMs = leases.now();
        return this.#failed(lease, node, leaseCaKey, error);
      }),
    };
    this.#byLease.set(lease.id, byNode.set(node.id, entry));
    return entry;
  }

  async #sign(wish: Parameters<typeof signCertificate>[0]): Promise<NodeCertificate> {
    const { signal } = this.#abort;
    const { path } = this.#sources;
    const line = await this.#queue.run(() => signCertificate(wish, { path, signal }), signal);
    this.#failing = undefined;
    return { line, untilMs: wish.untilMs, problem: undefined };
  }

  #failed(lease: LeaseRecord, node: NodeRecord, file: string, error: unknown): NodeCertificate {
    const message = error instanceof Error ? error.message : String(error);
    const isOfLessee = error instanceof CertificateError && !error.isOfCa;
    if (!this.#abort.signal.aborted && !isOfLessee) {
      const lastSeenMs = this.#sources.leases.now();
      const sinceMs = this.#failing?.file === file ? this.#failing.sinceMs : lastSeenMs;
      if (this.#failing?.message !== message) {
        this.#sources.logger.error('Cannot sign certificates', { lease: lease.id, nodeId: node.id, error });
      }
      this.#failing = { file, message, sinceMs, lastSeenMs };
    }
    const why = 'The launcher cannot sign certificates at present; an operator finds the reason with nodepool doctor';
    return { line: undefined, untilMs: 0, problem: isOfLessee ? message : why };
  }

  /**
   * Whose certificates the machines of a provider trust; `undefined`: none, as far as is known. The own configuration counts before
   * what others have registered, and of those the stricter mode.
   */
  #modeOf(provider: string): CertificateMode | undefined {
    const own = this.#sources.config().providers.get(provider);
    if (own) return certificateMode(own.entry['lease-certificates']);
    let found: CertificateMode | undefined;
    for (const { providerName, raw } of this.#sources.pools()) {
      if (providerName === provider && found !== 'host') found = certificateMode(raw[CERTIFICATES_KEY]) ?? found;
    }
    return found;
  }
}

/** @param untilMs - until when a new one would be valid */
function isGood({ failedMs, untilMs: ownMs }: Entry, nowMs: number, untilMs: number): boolean {
  if (failedMs !== undefined) return nowMs - failedMs < PAUSE_MS;
  return ownMs <= untilMs && (ownMs - nowMs) * 2 >= untilMs - nowMs;
}
