import ConfigurationFiles
import ConfigurationValues
import ConversionValues
import Monitoring
import Streams

/// The conversion values of installs: `GET /v1/conversion_value` for devices, `POST /v1/launch` and `POST /v1/event`
/// for servers, and `GET /v1/test/conversion_value` for trying an app.
struct ConversionRoutes: Sendable {
    private let service: ConversionService?
    private let apps: ConversionApps

    private static let mediaTypes = ["application/x-www-form-urlencoded", "application/json"]
    /// Far more than any request needs.
    private static let maxBodyBytes = 65_536

    /// Without a service, only the test route returns values.
    init(service: ConversionService?, apps: ConversionApps) {
        self.service = service
        self.apps = apps
    }

    var routes: [CollectorRoute] {
        [
            CollectorRoute(.get, "/v1/conversion_value") { request in
                try await answer(request, .conversionValue)
            },
            CollectorRoute(.get, "/v1/test/conversion_value") { request in
                try Self.judged { () throws(Rejection) in
                    .conversion(
                        200, try ConversionTestMode.json(ConversionParameters(request.query)))
                }
            },
            posted("/v1/launch", .launch),
            posted("/v1/event", .event),
        ]
    }

    private func posted(_ path: String, _ kind: ConversionRequest.Kind) -> CollectorRoute {
        CollectorRoute(
            .post, path, mediaTypes: Self.mediaTypes, maxBodyBytes: Self.maxBodyBytes
        ) { request in
            try await answer(request, kind)
        }
    }

    /// Turns rejections into answers in the form of these routes.
    private static func judged<Value>(
        _ body: () throws(Rejection) -> Value
    ) throws(ConversionRefusal) -> Value {
        do {
            return try body()
        } catch {
            throw ConversionRefusal(rejection: error)
        }
    }

    private func answer(
        _ request: CollectorRequest, _ kind: ConversionRequest.Kind
    ) async throws -> CollectorResponse {
        guard let service else {
            return .refusal(404, "no_models", "no conversion model is configured here")
        }
        let now = request.receivedAtMilliseconds
        let asked = try Self.judged { () throws(Rejection) in
            try ConversionRequest(
                kind, Self.parameters(of: request), apps: apps, nowMilliseconds: now)
        }
        return .conversion(200, try await service.answer(asked, nowMilliseconds: now).json)
    }

    /// The body wins over the query.
    private static func parameters(
        of request: CollectorRequest
    ) throws(Rejection) -> ConversionParameters {
        let query = ConversionParameters(request.query)
        guard !request.body.isEmpty else { return query }
        if request.mediaType == "application/json" {
            return try ConversionParameters(json: request.body).filled(from: query)
        }
        guard let form = QueryParameters(String(decoding: request.body, as: UTF8.self)) else {
            throw Rejection(.wrongType, "the body is not a form")
        }
        return ConversionParameters(form).filled(from: query)
    }
}

extension ConversionParameters {
    fileprivate init(_ parameters: QueryParameters) {
        self.init(parameters.names.map { (name: $0, value: parameters[$0] ?? "") })
    }
}

extension CollectorResponse {
    /// An answer that caches must not store.
    fileprivate static func conversion(_ status: Int, _ json: String) -> CollectorResponse {
        CollectorResponse(
            status: status, contentType: "application/json", body: Array(json.utf8),
            headers: [("Cache-Control", "no-store")])
    }
}

private struct ConversionRefusal: AnsweredError {
    let rejection: Rejection

    var answer: CollectorResponse { .conversion(400, ConversionAnswer.json(refused: rejection)) }
}

extension ConversionServiceError: AnsweredError {
    var answer: CollectorResponse {
        .refusal(503, "not_acknowledged", explanation, retryAfterSeconds: retryAfterSeconds)
    }

    /// The same delays as for other routes.
    private var retryAfterSeconds: Int {
        switch self {
        case .busy: AppendRefusal.full.retryAfterSeconds
        case .stopped: AppendRefusal.stopped.retryAfterSeconds
        case .late, .behind, .log, .store, .otherLog, .unwritable:
            AppendRefusal.late.retryAfterSeconds
        }
    }
}

extension ConversionApps {
    /// The apps with a conversion model and those named in the configuration.
    init(_ pipelines: PipelineDirectory) throws(ConfigurationError) {
        self.init(
            models: try pipelines.conversionModels(), appsByBundle: try pipelines.appsByBundle(),
            apps: try pipelines.catalog().apps.keys)
    }
}
