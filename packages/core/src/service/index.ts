/* Images in clouds */
export { propertyTexts } from '../config/property-texts.js';

/* Waiting, but not indefinitely */
export { unfinishedAfter } from '../async/unfinished-after.js';

/* What in a cloud belongs to this database */
export type { Evidence } from '../cloud/ownership/judge.js';
export { imageResource } from '../cloud/ownership/judge.js';
export type { Adoption, AdoptionOptions } from '../cloud/ownership/adopt.js';
export { AlienAdoption } from '../cloud/ownership/adopt.js';
export type { LeakAdapter, LeakFinderOptions } from '../cloud/ownership/leak-finder.js';
export { LeakFinder } from '../cloud/ownership/leak-finder.js';
export type { UploadEvidence } from '../images/upload-evidence.js';
export { uploadEvidence } from '../images/upload-evidence.js';

/* What is wrong now */
export type { ConditionChange } from '../conditions/condition-list.js';
export { compareConditions, ConditionList, conditionKey } from '../conditions/condition-list.js';
export type { ConditionSource } from '../conditions/condition-source.js';
export type { ConditionType, ConditionTypeName } from '../conditions/condition-types.js';
export { CONDITION_TYPES } from '../conditions/condition-types.js';
export { conditionFromJson, conditionToJson } from '../conditions/condition-json.js';
export type { ConditionSubjects, ServiceConditions, SharedCondition } from '../conditions/merge-conditions.js';
export { asUnknown, concerns, mergeConditions, publishedConditions } from '../conditions/merge-conditions.js';

/* Trial of new builds, and the way back */
export type { Canary, CountsByProvider, Uses } from '../images/canary.js';
export type { Comparison, LaunchCounts } from '../images/rates.js';
export { canaryOf, isInService, newCanary, withCanary, withoutCanary, worseThanBefore } from '../images/canary.js';
export { failedTests, withFailedTest, withoutFailedTests } from '../images/failed-tests.js';
export { mayBeFaultOfImage } from '../images/image-causes.js';
export { added, NONE as NO_LAUNCHES } from '../images/rates.js';
export { buildNote, canaryPercent, failureNote, imageNotes, withdrawnNote } from '../images/notes.js';
export { providersWithout, withdrawal } from '../images/withdrawal.js';

/* Command lines */
export { userOf } from '../render/user-of.js';
export { imageConditions } from '../images/image-conditions.js';
export type { JudgedImage } from '../images/image-conditions.js';
export { didYouMean } from '../text/suggest.js';
export type { ExpandedOption } from '../text/expand-option.js';
export { ambiguousOptionText, expandOption } from '../text/expand-option.js';

/* Logging */
export { buildLogFile, LOG_PART_BYTES, parseBuildLogName } from '../logging/build-log-file.js';
export type { Logging, LoggingOptions } from '../logging/create-logging.js';
export { createLogging } from '../logging/create-logging.js';
export type { LogLevel } from '../logging/levels.js';

/* Web */
export { tokenProof } from '../web/token-proof.js';

/* Metrics */
export type { LaunchSubject, OperationMetrics } from '../contract/operation-metrics.js';
export type { Transition } from '../contract/state-machine.js';
export type { BuilderEvents, BuilderLoad, ImageActivity } from '../metrics/builder-metrics.js';
export type { MetricsOptions } from '../metrics/metrics.js';
export { Metrics } from '../metrics/metrics.js';
export type { PoolLoad } from '../contract/pool-load.js';
export type { EndedWork, RequestOutcome } from '../contract/request-outcome.js';
export type { StatsdTarget } from '../metrics/statsd/statsd.js';
export type { LabelName, LabelValues, MetricDefinition, PrometheusForm } from '../metrics/table/definition.js';
export type { StatsdForm, StatsdType } from '../metrics/table/definition.js';
export { METRICS } from '../metrics/table/table.js';
export type { MetricKey, PrometheusKey, StatsdKey } from '../metrics/table/table.js';
export type {
  CacheQueues,
  LauncherMetrics,
  MetricsAttachment,
  ObservedLauncher,
  ProcessUsage,
  SweptWork,
} from '../metrics/types.js';

/* Tables, JSON and text of what is listed and explained */
export type { LabelSupply, SupplyRecords } from '../render/label-supply.js';
export { labelSupplyListing, supplyOfLabels } from '../render/label-supply.js';
export { conditionText, nextStepText } from '../render/condition-text.js';
export { durationText } from '../text/duration-text.js';
export { formatAge } from '../render/age.js';
export { configChangeToJson, configChangeToText } from '../render/config-change.js';
export { explanationFromJson, explanationToJson } from '../render/explanation-json.js';
export { mergeExplanations } from '../render/explanation-merge.js';
export { summarizeExplanation } from '../render/explanation-summary.js';
export { explanationToText } from '../render/explanation-text.js';
export type { BuildContents, ContentsChange } from '../render/build-contents.js';
export { buildContentsFromJson, buildContentsToJson } from '../render/build-contents.js';
export { compareContents, contentsChangeListing } from '../render/build-contents.js';
export type { BuildRow, Images } from '../render/images.js';
export { BUILD_DURATION_KEY, lastBuildMs } from '../render/images.js';
export { alienImageListing, buildListing, buildsOf, extendedBuildListing } from '../render/images.js';
export { extendedUploadListing, imagesOf, imageStatusListing, uploadListing, uploadsOf } from '../render/images.js';
export { extendedImageStatusListing } from '../render/images.js';
export type { ImageWork, SentBytes } from '../render/image-work.js';
export { imageWorkFromJson, imageWorkListing, imageWorkToText } from '../render/image-work.js';
export { labelListing, labelsOf } from '../render/labels.js';
export type { Column, Listing, TableSelection } from '../render/listing.js';
export { ListingJsonWriter, listingTableParts } from '../render/listing.js';
export { listingToJson, listingToLines, listingToObjects, listingToTable } from '../render/listing.js';
export type { NodeRow } from '../render/nodes.js';
export { extendedNodeListing, nodeListing, shownPort } from '../render/nodes.js';
export { toPythonJson } from '../text/python-text.js';
export { requestListing } from '../render/requests.js';
export { optionEntry, roff, sentence, tagged } from '../render/roff.js';
export { labelsToText, timeToProbe } from '../launcher/plan/texts.js';
