/// The conversion model of one app: its versions, each in effect until the next one is.
package struct ConversionModel: Equatable, Sendable {
    /// App Store id of the app, above 0.
    package let app: Int64
    /// At least one version, strictly ascending by the hour from which it is in effect.
    package let versions: [ConversionModelVersion]

    /// Checks the versions against each other.
    ///
    /// Throws a fault at `app`, `versions`, or the `id` or `effective_from` of a version.
    package init(app: Int64, versions: [ConversionModelVersion]) throws(ModelFault) {
        guard app > 0 else { throw ModelFault("app", .badApp) }
        guard !versions.isEmpty else { throw ModelFault("versions", .noVersions) }
        for index in versions.indices.dropFirst() {
            let version = versions[index]
            let path: [ModelFault.Step] = [.key("versions"), .index(index)]
            guard !versions[..<index].contains(where: { $0.id.utf8.elementsEqual(version.id.utf8) })
            else { throw ModelFault(path: path + [.key("id")], .duplicateVersion) }
            let previous = versions[index - 1].effectiveFromMilliseconds
            guard version.effectiveFromMilliseconds > previous else {
                throw ModelFault(path: path + [.key("effective_from")], .versionsNotAscending)
            }
        }
        self.app = app
        self.versions = versions
    }

    /// Index of the version in effect at an instant (milliseconds since 1970); the very instant
    /// from which a version is in effect is its own. Nil before the first version.
    package func versionIndex(inEffectAtMilliseconds instant: Int64) -> Int? {
        versions.lastIndex { $0.effectiveFromMilliseconds <= instant }
    }

    /// Decodes the conversion value of a postback.
    ///
    /// The version in effect at the latest moment at which the value can have been set decodes.
    /// A fine value goes before a coarse one; without either there are no events.
    ///
    /// - Parameters:
    ///   - received: when the postback arrived, in milliseconds since 1970.
    ///   - timing: how long a value can have waited.
    ///   - fine: the fine value, 0...63.
    ///   - coarse: the coarse value.
    ///   - sequenceIndex: the window whose coarse values apply; 0 below version 4.0.
    /// - Returns: nil when no version was in effect yet.
    package func decoding(
        received: Int64,
        timing: PostbackTiming,
        fine: Int?,
        coarse: CoarseValue?,
        sequenceIndex: Int
    ) -> ModelDecoding? {
        let setting = timing.settingInterval(received: received)
        guard let index = versionIndex(inEffectAtMilliseconds: setting.latest) else { return nil }
        let earlier = versionIndex(inEffectAtMilliseconds: setting.earliest)
        let version = versions[index]
        let events =
            fine.map { version.decode(fine: $0) }
            ?? coarse.map { version.decode(coarse: $0, sequenceIndex: sequenceIndex) } ?? []
        return ModelDecoding(
            versionIndex: index,
            versionID: version.id,
            currency: version.currency,
            events: events,
            ambiguous: earlier.map { $0 != index } ?? false
        )
    }
}
