import ConversionValues
import Pipelines

extension ConversionApps {
    /// The apps of a configuration: those with a conversion model, and those that are named.
    package init(_ pipelines: PipelineDirectory) throws(ConfigurationError) {
        self.init(
            models: try pipelines.conversionModels(), appsByBundle: try pipelines.appsByBundle(),
            apps: try pipelines.catalog().apps.keys)
    }
}
