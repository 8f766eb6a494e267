const SHOWN_BYTES = 40;
const TLS_ALERT = 0x15;

/**
 * Describes a server that does not reply to a session request as ZooKeeper does.
 * @param answer - first bytes of its reply
 */
export function describeStranger(answer: Buffer): string {
  if (answer[0] === TLS_ALERT && answer[1] === 3) {
    return 'does not answer as ZooKeeper: it expects TLS; set "zookeeper-tls" or use its port without TLS';
  }
  const line =
    answer
      .subarray(0, SHOWN_BYTES)
      .toString('latin1')
      .split(/[\r\n]/, 1)[0] ?? '';
  const isText = line.length > 3 && /^[\x20-\x7e]+$/.test(line);
  return `does not answer as ZooKeeper${isText ? `, but with ${JSON.stringify(line)}` : ''}: correct host or port`;
}
