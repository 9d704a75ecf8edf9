extension PipelineDirectory {
    /// Everything that is wrong, at most one fault a file: files that nothing reads, then the
    /// streams, the catalog, the conversion models and the partners.
    ///
    /// The files of `streams` must be there; the file of another is read only when it is.
    public func check(
        requiring streams: Set<PipelineStream> = [.bids, .impressions, .overlayClicks, .postbacks]
    ) -> [ConfigurationError] {
        do {
            return try unknownFiles() + faults(requiring: streams)
        } catch {
            return [error]
        }
    }

    private func faults(requiring streams: Set<PipelineStream>) -> [ConfigurationError] {
        var faults: [ConfigurationError] = []
        func note<Value>(_ read: () throws(ConfigurationError) -> Value) -> Value? {
            do {
                return try read()
            } catch {
                faults.append(error)
                return nil
            }
        }
        if streams.contains(.bids) || has(.bids) { _ = note(bidsPipeline) }
        if streams.contains(.impressions) || has(.impressions) { _ = note(impressionsPipeline) }
        if streams.contains(.overlayClicks) || has(.overlayClicks) {
            _ = note(overlayClicksPipeline)
        }
        if streams.contains(.postbacks) || has(.postbacks) { _ = note(postbacksPipeline) }
        if streams.contains(.storeNotifications) || has(.storeNotifications) {
            _ = note(storeNotificationsPipeline)
        }
        _ = note(catalog)
        let models = note { () throws(ConfigurationError) in try names(in: Self.modelsName) }
        for name in models ?? [] {
            _ = note { () throws(ConfigurationError) in try conversionModel(name) }
        }
        let partners = note { () throws(ConfigurationError) in try names(in: Self.partnersName) }
        for name in partners ?? [] {
            _ = note { () throws(ConfigurationError) in try partner(name) }
        }
        return faults
    }
}
