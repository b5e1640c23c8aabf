"""Why public functions are not called with anything here, and what tests them."""

_REASONS = {
    "a base class": """
        infer.mcmc.CollapsedModel infer.mcmc.ParameterUpdates infer.mcmc.PartitionKernel infer.mcmc.Starts
        infer.mcmc.Transition distributions.Component distributions.ConjugateComponent
        distributions.PartitionDistribution guides.AmortizedGuide guides.DeepGuide guides.SequentialGuide
        nn.ClusterShape nn.Anchors nn.Decoder nn.Deformation nn.Encoder nn.Relaxation nn.SeedRule
        nn.Future nn.NetworkScorer nn.Order""",
    "what a function returns, a type or a table of names": """
        infer.mcmc.ChainStates distributions.Filtering models.FAMILIES models.PRIORS
        data.Source data.Standardised data.Table infer.AmortizationGap infer.Refinement infer.Populations
        infer.FineTuning infer.FitResult infer.Particles""",
    "takes nothing that could be wrong": """
        infer.mcmc.ExactParameters infer.mcmc.OneCluster infer.mcmc.Overdispersed infer.mcmc.Singletons
        nn.RandomOrder plots.style list_guides""",
    "inside of another of these, or made by it": """
        distributions.ClusteredData distributions.InverseWishartCholesky
        models.Companion models.default_mixture guides.filtering_network_for
        guides.mixture_network_for nn.LightScorer read_table standardise calibrate calibrate_near certify""",
    "a part of networks, which takes what the network makes: tests/nn, tests/guides": """
        nn.AttentiveDecoder nn.AutoencoderDensity nn.FilteringNetwork nn.FlowDensity nn.GaussianDensity
        nn.MeanDecoder nn.MixtureNetwork nn.PointEncoder nn.RecurrentDecoder nn.AdaptiveShape
        nn.ClusterwiseNetwork nn.ColumnScorer nn.DiscreteLatents nn.FixedShape nn.FutureAttention
        nn.GatedGraphEncoder nn.GaussianLatents nn.GraphEncoder nn.GraphScorer nn.ImageEncoder
        nn.InducedFuture nn.NeighbourScorer nn.SummedScorer nn.VectorEncoder nn.WaveformEncoder
        nn.DenseDecoder nn.DenseEncoder nn.ExactSum nn.GumbelSoftmax nn.ImageDecoder nn.ImageDeformation
        nn.NearestSeed nn.NormalNoise nn.SpreadingSeeds nn.Views nn.RandomAnchors nn.StratifiedAnchors""",
    "runs as CollapsedGibbs does, by PartitionKernel.run; compiled for long: tests/infer/mcmc": """
        infer.mcmc.AuxiliaryGibbs infer.mcmc.BlockedGibbs infer.mcmc.Compose infer.mcmc.CompanionNUTS
        infer.mcmc.GuideProposal
        infer.mcmc.MergeSplit infer.mcmc.ParallelTempering infer.mcmc.SliceHyperparameters
        infer.mcmc.SplitMerge""",
    "takes a run of Pyro's MCMC, programs, classes or functions of users": """
        infer.mcmc.assignments from_pyro register report.register_section distributions.PyroComponent
        models.Program models.Replicated""",
    "takes a guide or its parts, which check their data: tests/guides, tests/infer": """
        distributions.ClusterwisePartition distributions.OrderAveragedPartition
        distributions.SequentialPartition distributions.BernoulliObservation
        distributions.CountsObservation distributions.NormalObservation distributions.Observation
        distributions.DiagonalMixture guides.AttentiveClusteringProcess
        guides.ClusterwiseClusteringProcess guides.BlockFilter guides.AnchoredGuide
        guides.DeepMixtureGuide guides.EmbeddedMixtureGuide guides.SemiSupervisedGuide
        guides.SpanningForestGuide guides.column_scorer_for""",
    "takes numbers or other parts, refused in tests/models, tests/distributions": """
        distributions.BlockRates distributions.PerturbedSpanningForest
        distributions.standardised_similarity models.DeformedGlyphs models.GaussianClusters
        models.SpikeWaveforms models.MarginalMixture models.bent_classes models.filtering_clusters
        models.set_transformer_clusters models.StochasticBlockModel models.in_words
        models.standardised_mixture models.SampledPredictive models.table_mixture
        models.PartiallyLabelled models.DistortedClusters models.UnlabelledTables
        models.warped_arcs models.warped_clusters models.DeepMixture
        models.EmbeddedMixture models.SemiSupervisedClustering infer.Devices infer.InclusiveKL
        infer.PartialFenchelYoungLoss""",
    "laws of tables and draws that are refined: tests/infer/mcmc": """
        models.AnyTable models.NoisyTables models.RowsOfTables infer.PosteriorPool infer.PosteriorTables
        infer.annealed_log_evidence infer.tempered_populations infer.refine""",
    "takes Draws, or chains that fit together: tests/infer/test_importance.py, tests/diagnostics": """
        diagnostics.normalised_weights diagnostics.resample diagnostics.drift diagnostics.nested_rhat""",
    "takes images, graphs or points of the plane, others refused in tests/plots": """
        plots.plot_contact_sheet plots.plot_generated plots.plot_uncertain_images plots.plot_waveforms
        plots.plot_block_matrix plots.plot_graph plots.plot_cluster_densities plots.plot_components
        plots.plot_filtering plots.new_figure plots.png_bytes""",
    "takes a card, a log, or what an analysis returned: tests/report; damaged ones: tests/faults": """
        plots.plot_certificate plots.plot_efficiency plots.plot_order_spread plots.plot_training
        calibration.judge_certificate report.notebook_view report.page_of report.render_page
        report.show_page report.terminal_view""",
    "reads files or takes seconds: tests/data, tests/analysis, tests/infer and cases of tests/faults": """
        cluster cluster_many compare diagnose forest missing_cells predict update read_draws data.read_table
        data.read_labelled_folder calibration.calibrate calibration.calibrate_near calibration.certify
        calibration.check_guide infer.BatchedWakeSleep infer.amortization_gap infer.fine_tune infer.fit
        infer.variational_posterior""",
}
NOT_TESTED = {name: why for why, names in _REASONS.items() for name in names.split()}
