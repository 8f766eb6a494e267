const MIB = 1024 * 1024;

/** Entries of one ACL, as it is stored. */
export const MAX_ACL_ENTRIES = 100;
/** Identities that one connection can prove. */
export const MAX_IDENTITIES = 16;
/** Sessions that live at the same time. */
export const MAX_SESSIONS = 100_000;
/** A reply: more is answered with an error. Many clients take no more than 1 MiB. */
export const MAX_REPLY_BYTES = 32 * MIB;
/** What one multi may write. ACLs that stand for all identities of the caller make it larger than its packet. */
export const MAX_TRANSACTION_BYTES = 64 * MIB;
/** Characters of the paths of all ephemerals of one session: ending it is one record of the log. */
export const MAX_EPHEMERAL_PATHS = 16 * MIB;
