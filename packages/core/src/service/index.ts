/* Providers and images, beyond what an author of drivers names */
export type { AlienResource, LeakedResource } from '../contract/driver.js';
export { DriverError } from '../contract/errors.js';
export type { ImageSource } from '../contract/images.js';
export type { ProviderImages } from '../contract/provider-config.js';
export { propertyTexts } from '../config/property-texts.js';

/* Waiting, but not indefinitely */
export { unfinishedAfter } from '../async/time-limit.js';

/* What in a cloud belongs to this database */
export { imageResource } from '../cloud/ownership/judge.js';
export { AlienAdoption } from '../cloud/ownership/adopt.js';
export { databaseTag } from '../cloud/ownership/ownership.js';
export { isImageOf, takeLeftImage } from '../cloud/ownership/left-image.js';
export { LeakFinder } from '../cloud/ownership/leak-finder.js';
export { uploadEvidence } from '../contract/images.js';

/* What is wrong now */
export type { Condition, ConditionTypes } from '../contract/condition.js';
export { newCondition } from '../contract/condition.js';
export type { ConditionChange } from '../conditions/condition-list.js';
export { ConditionList } from '../conditions/condition-list.js';
export type { ConditionSource } from '../conditions/condition-source.js';
export { serviceName } from '../conditions/service-name.js';
export {
  CONDITIONS as SHARED_CONDITIONS,
  noBuilderCondition,
  notStartedCondition,
} from '../conditions/shared-conditions.js';
export { unservedConditions, unservedImageConditions } from '../conditions/unserved-providers.js';
export { conditionFromJson, conditionToJson } from '../conditions/condition-json.js';
export type { SharedCondition } from '../conditions/merge-conditions.js';
export type { LogFailure } from '../logging/log-file.js';
export { foldConditions, type FoldedCondition } from '../conditions/fold-conditions.js';
export { asUnknown, mergeConditions, publishedConditions } from '../conditions/merge-conditions.js';

/* Trial of new builds, and the way back */
export type { ComparedLaunches } from '../images/trial.js';
export {
  added,
  faultOf,
  isInService,
  NEW_TRIAL,
  NO_LAUNCHES,
  trialOf,
  withoutTrial,
  withTrial,
} from '../images/trial.js';
export { failedTests, withFailedTest, withoutFailedTests } from '../images/failed-tests.js';
export { mayBeFaultOfImage } from '../images/image-causes.js';
export { readyBuilds, readyUploads } from '../images/newest-builds.js';
export { isServing, pickUploads } from '../images/pick-uploads.js';
export { buildNote, imageNotes, newestPercent, withdrawnNote } from '../images/notes.js';
export { imageConditions } from '../images/image-conditions.js';
export { providersWithout, withdrawal } from '../images/withdrawal.js';

/* Command lines */
export type { ConnectionDetails } from '../text/connection-details.js';
export { connectionDetails, knownHostsLines } from '../text/connection-details.js';
export type { UnsafeField } from '../text/login-fields.js';
export { unsafeLoginField, withoutUnsafeLogin } from '../text/login-fields.js';
export { readPublicKey } from '../text/public-key.js';
export { fetchService, type ServiceCall } from './fetch-service.js';
export { kubeconfigOf } from '../render/kubeconfig.js';
export { shellWord } from '../text/shell-word.js';
export { userOf } from '../render/user-of.js';
export { firstOf } from '../text/first-of.js';
export { ROLLBACK_OWNER } from '../text/resume-step.js';
export { didYouMean } from '../text/suggest.js';
export { ambiguousOptionText, expandOption } from './expand-option.js';

/* Logging */
export { buildLogFile, LOG_PART_BYTES, parseBuildLogName } from '../logging/build-log-file.js';
export type { Logging } from '../logging/create-logging.js';
export { createLogging } from '../logging/create-logging.js';

/* Web */
export { WorkQueue, type Step } from '../async/work-queue.js';
export { Allowance, type AllowanceOptions } from '../async/allowance.js';
export { tokenProof } from './token-proof.js';

/* Metrics */
export type { BuilderEvents, ImageActivity } from '../metrics/builder-metrics.js';
export { Metrics } from '../metrics/metrics.js';
export type { UsagePhase } from '../metrics/table/usage-phase.js';
export { isInternalRequestor, USAGE_PHASES, usagePhase } from '../metrics/table/usage-phase.js';
export type { RequestOutcome } from '../contract/request-outcome.js';
export type { StatsdTarget } from '../metrics/statsd/statsd.js';
export type { LauncherMetrics, MetricsAttachment, ObservedLauncher, ProcessUsage } from '../metrics/types.js';

/* Tables, JSON and text of what is listed and explained */
export type { LabelSupply } from '../render/label-supply.js';
export { labelSupplyListing, supplyOfLabels } from '../render/label-supply.js';
export { conditionText, nextStepText } from '../render/condition-text.js';
export { durationText } from '../text/duration-text.js';
export { formatAge } from '../render/age.js';
export { configChangeToJson, configChangeToText } from '../render/config-change.js';
export { explanationFromJson, explanationToJson } from '../render/explanation-json.js';
export { mergeExplanations } from '../render/explanation-merge.js';
export { summarizeExplanation } from '../render/explanation-summary.js';
export { explanationToText } from '../render/explanation-text.js';
export { lastBuildMs } from '../render/images.js';
export { BUILD_REASON_KEY, DURATION_KEY, FILES_KEY, TESTED_KEY } from '../render/image-figures.js';
export { buildReasonOf, durationOf, isTested, sizesOf } from '../render/image-figures.js';
export { alienImageListing, buildListing, buildsOf, extendedBuildListing } from '../render/images.js';
export { extendedUploadListing, imagesOf, imageStatusListing, uploadListing, uploadsOf } from '../render/images.js';
export { extendedImageStatusListing } from '../render/images.js';
export type { ImageWork } from '../render/image-work.js';
export { imageWorkFromJson, imageWorkListing, imageWorkToText } from '../render/image-work.js';
export { labelListing, labelsOf } from '../render/labels.js';
export type { Column, Listing, TableSelection } from '../render/listing.js';
export { ListingJsonWriter, listingTableParts } from '../render/listing.js';
export { listingToLines, listingToObjects, listingToTable, withRanks } from '../render/listing.js';
export type { NodeRow } from '../render/nodes.js';
export { extendedNodeListing, nodeListing, shownPort } from '../render/nodes.js';
export { toPythonJson } from '../text/python-text.js';
export { requestListing } from '../render/requests.js';
export { optionEntry, roff, sentence, tagged } from '../render/roff.js';
export { labelsToText } from '../launcher/plan/texts.js';
