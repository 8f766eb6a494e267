import { LOADING } from '../../../test/contract/broken/loading.js';
import { provePart } from '../../../test/contract/prove-part.js';

provePart('loading', LOADING);
