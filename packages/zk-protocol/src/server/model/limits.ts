const MIB = 1024 * 1024;

/** Entries of a stored ACL. */
export const MAX_ACL_ENTRIES = 100;
/** Identities of one connection. */
export const MAX_IDENTITIES = 16;
/** Concurrent sessions. */
export const MAX_SESSIONS = 100_000;
/** Size of a reply; beyond it the request fails. Many clients accept only 1 MiB. */
export const MAX_REPLY_BYTES = 32 * MIB;
/** Size of the changes of a multi, which may exceed its packet: `auth` entries of ACLs are expanded. */
export const MAX_TRANSACTION_BYTES = 64 * MIB;
/** Total length of the ephemeral paths of one session, whose end is one record of the log. */
export const MAX_EPHEMERAL_PATHS = 16 * MIB;
