import { testDriverContract } from '@nodepool/core/testing';
import { describe, it } from 'vitest';
import { contract } from './contract.js';

testDriverContract({ ...contract, test: { describe, it } });
