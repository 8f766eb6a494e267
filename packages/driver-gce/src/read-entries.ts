import { ProviderUnavailableError, type Json, type JsonObject } from '@nodepool/core';
import { isMap } from '@nodepool/zk-protocol';
import type { ApiDisk, ApiInstance, ApiQuota } from './api.js';

/** An instance; `undefined`: it cannot be read. */
export function readInstance(entry: unknown): ApiInstance | undefined {
  const { name, zone, status, machineType, labels, networkInterfaces, scheduling, metadata } = mapOf(entry);
  const isWhole =
    areTexts(name, zone, status, machineType) &&
    isLabels(labels) &&
    isListOf(networkInterfaces, isInterface) &&
    isOptionalMap(scheduling) &&
    isOptionalMap(metadata) &&
    isListOf(mapOf(metadata)['items'], isMap);
  return isWhole ? (entry as ApiInstance) : undefined;
}

/** A disk; `undefined`: it cannot be read. A disk that seems to be attached to nothing may be deleted. */
export function readDisk(entry: unknown): ApiDisk | undefined {
  const { name, zone, labels, users, type } = mapOf(entry);
  const isWhole =
    areTexts(name, zone) && isLabels(labels) && isListOf(users, isText) && (type === undefined || isText(type));
  return isWhole ? (entry as ApiDisk) : undefined;
}

/** A quota; `undefined`: it cannot be read. */
export function readQuota(entry: unknown): ApiQuota | undefined {
  const { metric, limit, usage = 0 } = mapOf(entry);
  return isText(metric) && typeof limit === 'number' && typeof usage === 'number'
    ? { metric, limit, usage }
    : undefined;
}

/** A text, such as a URL; `undefined`: it is none. */
export function readText(entry: unknown): string | undefined {
  return typeof entry === 'string' ? entry : undefined;
}

/** The answer about one thing. @throws {ProviderUnavailableError} it cannot be read, which does not say that there is none */
export function readOne<T>(what: string, answer: unknown, read: (answer: unknown) => T | undefined): T {
  const value = read(answer);
  if (value === undefined) throw new ProviderUnavailableError(`${what} was answered with what cannot be read`);
  return value;
}

function mapOf(value: unknown): JsonObject {
  const json = value as Json | undefined;
  return isMap(json) ? json : {};
}

function isText(value: Json | undefined): value is string {
  return typeof value === 'string';
}

function areTexts(...values: readonly (Json | undefined)[]): boolean {
  return values.every(isText);
}

function isOptionalMap(value: Json | undefined): boolean {
  return value === undefined || isMap(value);
}

function isLabels(value: Json | undefined): boolean {
  return isOptionalMap(value) && areTexts(...Object.values(mapOf(value)));
}

function isListOf(value: Json | undefined, is: (item: Json) => boolean): boolean {
  return value === undefined || (Array.isArray(value) && value.every(is));
}

function isInterface(value: Json): boolean {
  const { accessConfigs, ipv6AccessConfigs } = mapOf(value);
  return isMap(value) && isListOf(accessConfigs, isMap) && isListOf(ipv6AccessConfigs, isMap);
}
