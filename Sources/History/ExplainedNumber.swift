import Reports

extension Explainer {
    /// What the rows of a query are made of, to be explained.
    ///
    /// - Parameters:
    ///   - funnelQuery: adds to a query of the funnel what the configuration says.
    ///   - dumpQuery: the same for another one.
    /// - Throws: `ExplanationError.noNumber` for rows that are computed by statistics and add up to nothing.
    package static func number(
        _ query: DumpQuery,
        _ funnelQuery: (_ query: DumpQuery, _ dateRule: FunnelQuery.DateRule) throws -> FunnelQuery,
        _ dumpQuery: (_ query: DumpQuery) throws -> DumpQuery
    ) throws -> any Number {
        switch query.name {
        case Funnel.name:
            try FunnelNumber(funnelQuery(query, .arrival), bounds: .ofRevenue)
        case CampaignReturns.name: try CampaignReturns.number(funnelQuery(query, .install))
        case ClickRates.name: try ClickRatesNumber(query)
        case FraudSignals.name:
            throw ExplanationError.noNumber(
                dump: query.name,
                explanation:
                    "holds shares of several dumps with their intervals: explain postbacks (--where verdict=...), "
                    + "overlay-clicks, bid-signatures, conflicts or outcomes, whose sums it divides"
            )
        case NullEstimates.name:
            throw ExplanationError.noNumber(
                dump: query.name,
                explanation:
                    "holds estimates, which no record adds to: explain conversion-values for the known values, "
                    + "and postbacks --measure null_values for the others")
        default: try DumpNumber(dumpQuery(query))
        }
    }

    /// What a rate divides; nil for a measure that is none.
    package static func division(
        _ measure: String?, _ query: DumpQuery, _ stores: OpenStores,
        _ funnelQuery: (_ query: DumpQuery) throws -> FunnelQuery
    ) throws -> FunnelDivision? {
        guard let measure else { return nil }
        return switch query.name {
        case Funnel.name: try stores.division(of: measure, funnelQuery(query))
        case CampaignReturns.name: try stores.division(of: measure, inReturns: funnelQuery(query))
        case ClickRates.name: try stores.division(of: measure, inClickRates: query)
        default: nil
        }
    }

    /// The measures of a number for which a name stands; nil for all. A rate stands for what it is computed from.
    package static func measures(_ name: String?, of number: any Number) throws -> [String]? {
        guard let name else { return nil }
        if let rates = number as? ClickRatesNumber {
            guard let parts = rates.parts(of: name) else {
                throw ExplanationError.unknownMeasure(
                    name, dump: number.name, known: ClickRates.measureNames)
            }
            return parts
        }
        guard let funnel = number as? FunnelNumber else {
            guard number.measures.contains(name) else {
                throw ExplanationError.unknownMeasure(
                    name, dump: number.name, known: number.measures)
            }
            return [name]
        }
        let isOfReturns = funnel.name == CampaignReturns.name
        if isOfReturns, name == CampaignReturns.throughDay || name == "maturity" {
            throw ExplanationError.noSum(
                name, dump: number.name,
                explanation: "is computed from dates, and no record adds to it: docs/roas.md")
        }
        guard isOfReturns || !FunnelNumber.isWithoutRecords(name) else {
            throw ExplanationError.noSum(
                name, dump: number.name,
                explanation:
                    "is worked out of dates or shares, and no record adds to it: docs/funnel.md")
        }
        guard funnel.bounds != .absent || !FunnelNumber.isOfModels(name) else {
            throw ExplanationError.noSum(
                name, dump: number.name,
                explanation:
                    "follows from the models in the stores, which no stored row has: prove postbacks, or explain it"
            )
        }
        let isKnown =
            !isOfReturns || CampaignReturns.measureNames.contains(name)
            || funnel.measures.contains(name)
        guard isKnown, let parts = funnel.parts(of: name) else {
            throw ExplanationError.unknownMeasure(
                name, dump: number.name,
                known: isOfReturns
                    ? CampaignReturns.measureNames : funnel.measures + FunnelNumber.workedOut)
        }
        return parts
    }
}
