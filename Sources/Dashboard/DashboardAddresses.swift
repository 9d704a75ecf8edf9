import Reports

/// The addresses of all pages, for programs that visit each of them.
package enum DashboardAddresses {
    /// The pages of the navigation, a campaign, a comparison, and a page for each report.
    ///
    /// - Parameter campaigns: two campaigns, each as its network, app and id.
    package static func all(campaigns: [[String]]) -> [String] {
        let campaign = zip(Funnel.campaignColumns, campaigns[0]).map { "\($0)=\($1)" }
        let picks = campaigns.enumerated().map { index, key in
            "\(CampaignPick.prefix)\(index)=\(key.joined(separator: "+"))"
        }
        return DashboardPage.allCases.map(\.path)
            + [
                "\(DashboardPage.overview.path)?period=\(PageContext.Period.week.rawValue)",
                "\(PageRoute.single(.campaign).path)?\(campaign.joined(separator: "&"))",
                "\(PageRoute.single(.compare).path)?\(picks.joined(separator: "&"))",
            ] + reportNames().map { PageRoute.ofDump(.dump, name: $0, nil).path }
    }
}
