extension PipelineDirectory {
    /// Everything that is wrong, at most one fault a file: files that nothing reads, then the
    /// streams, the catalog, the conversion models and the partners.
    ///
    /// The file of a stream is read when it is there: a worker says itself at its start that its own is not.
    package func check() -> [ConfigurationError] {
        do {
            return try unknownFiles() + faults()
        } catch {
            return [error]
        }
    }

    private func faults() -> [ConfigurationError] {
        var faults: [ConfigurationError] = []
        func note<Value>(_ read: () throws(ConfigurationError) -> Value) -> Value? {
            do {
                return try read()
            } catch {
                faults.append(error)
                return nil
            }
        }
        if has(.bids) { _ = note(bidsPipeline) }
        if has(.impressions) { _ = note(impressionsPipeline) }
        if has(.overlayClicks) { _ = note(overlayClicksPipeline) }
        if has(.postbacks) { _ = note(postbacksPipeline) }
        if has(.storeNotifications) { _ = note(storeNotificationsPipeline) }
        if has(.conversionUpdates) { _ = note(conversionUpdatesPipeline) }
        if has(.partnerPostbacks) { _ = note(partnerPostbacksPipeline) }
        _ = note { () throws(ConfigurationError) in try catalog() }
        _ = note { () throws(ConfigurationError) in try collectorPipeline() }
        let models = note { () throws(ConfigurationError) in try names(in: Self.modelsName) }
        for name in models ?? [] {
            _ = note { () throws(ConfigurationError) in try conversionModel(name) }
        }
        let partners = note { () throws(ConfigurationError) in try names(in: Self.partnersName) }
        for name in partners ?? [] {
            _ = note { () throws(ConfigurationError) in try partner(name) }
        }
        if faults.isEmpty { _ = note(appsByBundle) }
        return faults
    }
}
