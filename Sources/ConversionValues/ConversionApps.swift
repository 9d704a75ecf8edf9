import ConversionModels
import Streams

/// The apps whose values are told: their models, and the bundle ids by which devices name them.
package struct ConversionApps: Sendable {
    private let models: [Int64: ConversionModel]
    private let appsByBundle: [String: Int64]
    private let known: Set<Int64>

    /// - Parameters:
    ///   - models: the conversion models.
    ///   - appsByBundle: App Store ids by bundle id.
    ///   - apps: further apps that are known, such as the catalog's.
    package init(
        models: [ConversionModel], appsByBundle: [String: Int64] = [:],
        apps: some Sequence<Int64> = EmptyCollection()
    ) {
        self.models = Dictionary(
            models.map { ($0.app, $0) }, uniquingKeysWith: { first, _ in first })
        self.appsByBundle = appsByBundle
        known = Set(models.map(\.app)).union(appsByBundle.values).union(apps)
    }

    /// Whether any app has a model.
    package var hasModels: Bool { !models.isEmpty }

    /// The model of an app; nil when it has none.
    package func model(of app: Int64) -> ConversionModel? { models[app] }

    /// The app that a request names: `app_id`, else the bundle id or App Store id in `i`, else an App
    /// Store id in `a`. Throws `missing_field` and `out_of_range`.
    func app(_ parameters: ConversionParameters) throws(Rejection) -> Int64 {
        if let text = parameters["app_id"] { return try named(text, "app_id") }
        if let text = parameters["i"] {
            if let app = appsByBundle[text] { return app }
            return try named(text, "i")
        }
        // In the guide `a` is the key of an account; an id in it is taken for the app's.
        if let text = parameters["a"], let app = Int64(text), known.contains(app) { return app }
        throw Rejection(
            .missingField, "i (the app's bundle id) or app_id (its App Store id) is missing")
    }

    private func named(_ text: String, _ name: String) throws(Rejection) -> Int64 {
        guard let app = Int64(text), known.contains(app) else {
            throw Rejection(
                .outOfRange,
                "\(name) names no app of this server: give it a conversion model, or name it in "
                    + "catalog.yaml with its bundle_id")
        }
        return app
    }
}
