export { createDriver, driver } from './driver.js';
export type { TemplateDriverOptions } from './driver.js';
export type { TemplateLabelConfig, TemplatePoolConfig, TemplateProviderConfig } from './config.js';
