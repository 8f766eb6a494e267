/** What of statsd-client 0.4 is documented and used; it brings no typings. */
declare module 'statsd-client' {
  class StatsDClient {
    constructor(options: {
      readonly host: string;
      /** UDP port. */
      readonly port: number;
      /** Whether `host` is an address of IPv6. */
      readonly ipv6: boolean;
      /** Lines wait so many milliseconds for others; a socket that is not used for twice as long is closed. */
      readonly socketTimeout: number;
    });
    gauge(name: string, value: number): this;
    counter(name: string, delta: number): this;
    timing(name: string, ms: number): this;
    /** Sends a line as it is. */
    raw(line: string): this;
    close(): this;
  }

  export = StatsDClient;
}
