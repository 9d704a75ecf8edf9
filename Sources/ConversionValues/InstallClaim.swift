import ConversionModels

/// What a request says of the install that it is of, by which that may be another one than is known.
struct InstallClaim {
    /// The device asks for itself; else it is a server that speaks of it.
    let isOfDevice: Bool
    /// At most the instant of the answer; milliseconds since 1970.
    let firstCallMilliseconds: Int64
    /// The same as it was reported.
    let reportedFirstCallMilliseconds: Int64
    /// The fine value that the install has.
    let fine: Int?
    /// A coarse value of it is above low, or a window is locked.
    let hasCoarseOrLock: Bool
    /// By currency, the total revenue that it reports, in micros.
    let totalRevenueMicros: [String: Int64]

    /// What a request says; nil when it reports no first call.
    init?(_ request: ConversionRequest, now: Int64) {
        guard let reported = request.firstCallMilliseconds else { return nil }
        isOfDevice = request.kind == .conversionValue
        firstCallMilliseconds = min(reported, now)
        reportedFirstCallMilliseconds = reported
        fine = request.fine
        hasCoarseOrLock =
            request.coarse.contains { $0 ?? .low > .low } || request.locks.contains(true)
        totalRevenueMicros = request.totalRevenueMicros
    }

    /// The same of what was answered, as far as the event says it.
    init(_ update: ConversionUpdate) {
        isOfDevice = update.request == .conversionValue
        firstCallMilliseconds = update.firstCallMilliseconds
        reportedFirstCallMilliseconds =
            update.reportedFirstCallMilliseconds ?? update.firstCallMilliseconds
        fine = update.fine?.reported?.value
        hasCoarseOrLock =
            update.coarse?.reported?.value ?? .low > .low || !update.reportedLocks.isEmpty
        totalRevenueMicros = update.totalRevenueMicros
    }
}
